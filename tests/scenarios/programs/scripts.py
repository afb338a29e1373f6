"""Trainings as texts that are written into a folder and started there, as people start them: by a shell, or by themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIFE_S = 200
PYTHON = sys.executable
START = f"import os, sys, time, threading, signal, socket, pathlib\nsignal.alarm({LIFE_S})\n"
RANK = START + "rank, world = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])\n"
BY_FILES = (
    RANK + "def meet(step):\n"
    "    pathlib.Path(f'sync.{step}.{rank}').touch()\n"
    "    for _ in range(36000):\n"
    "        if all(os.path.exists(f'sync.{step}.{r}') for r in range(world)): return\n"
    "        time.sleep(0.1)\n"
    "    raise TimeoutError\n"
)


def shell(folder: Path, line: str) -> None:
    subprocess.run(["bash", "-c", line], cwd=folder, check=False)


def ranks(folder: Path, text: str, world: int) -> None:
    """Started one by one by a shell, all of which write one log."""
    (folder / "train.py").write_text(text)
    shell(folder, f"for r in $(seq 0 {world - 1}); do RANK=$r WORLD_SIZE={world} {PYTHON} -u train.py & done; wait")


def script(folder: Path, text: str, *, name: str = "train.py") -> None:
    (folder / name).write_text(START + text)
    subprocess.run([PYTHON, "-u", name], cwd=folder, check=False)
