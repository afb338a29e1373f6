"""A real torchrun over the hosts, started as people do: here, and through ssh on each other host."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.hosts.addresses import DEVICE, name_of
from tests.hosts.hosts import Hosts

BIN = Path(sys.executable).parent
TORCHRUN = (
    "cd {folder}; exec env {environ} OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME={device} {bin}/python {bin}/torchrun --nnodes {count}"
    " --node-rank {rank} --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint n1:29400 --rdzv-id 7 train.py"
)
STALL_S = 10
PATIENCE_S = 240.0
"""Many processes import torch at once, and the machine may be busy."""


class Failed(AssertionError):
    """What was said instead."""


class Run:
    """One at a time. `environ`: words as `NAME=value`."""

    def __init__(self, hosts: Hosts, *environ: str) -> None:
        self.hosts, self.log = hosts, hosts.folder / "train.log"
        shutil.copy(Path(__file__).with_name("train.py"), hosts.folder)
        (hosts.folder / "healed").unlink(missing_ok=True)
        self.log.unlink(missing_ok=True)
        lines = ["#!/bin/sh", f"cd {hosts.folder}"]
        for number in range(2, hosts.count + 1):
            there = f"{self._torchrun(number, environ)} >{name_of(number)}.log 2>&1"
            lines.append(f"ssh {name_of(number)} '{there}' </dev/null &")
        script = hosts.folder / "launch.sh"
        here = self._torchrun(1, environ).replace("exec ", "")  # the script stays: what is started again is this
        script.write_text("\n".join([*lines, here]) + "\n")
        script.chmod(0o755)
        begin = f"nohup setsid {script} >{self.log} 2>&1 </dev/null &"
        subprocess.run(hosts.on(1, "sh", "-c", begin), check=True)

    def _torchrun(self, number: int, environ: tuple[str, ...]) -> str:
        return TORCHRUN.format(
            folder=self.hosts.folder,
            environ=" ".join(environ),
            device=DEVICE,
            bin=BIN,
            count=self.hosts.count,
            rank=number - 1,
        )

    def await_step(self, step: int, still_s: float = 0.0) -> None:
        """Until the log has come to this step, and has been still for so long."""
        wanted = f"step {step}/"
        until(lambda: self.log.exists() and wanted in self.log.read_text(), f"{wanted} in {self.log}")
        until(lambda: time.time() - self.log.stat().st_mtime >= still_s, "stillness")

    def hangtop(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def command(self, *words: str) -> tuple[str, ...]:
        others = ",".join(name_of(number) for number in range(2, self.hosts.count + 1))
        options = ("--log", str(self.log), "--stall", str(STALL_S), "--hosts", others)
        command, *rest = words
        watching = (command, *rest) if command.startswith("--") else ()
        return self.hosts.on(1, f"{BIN}/hangtop", *(() if watching else (command,)), *options, *(watching or rest))

    def checked(self) -> dict[str, Any]:
        done = self.hangtop("check", "--json")
        try:
            told: dict[str, Any] = json.loads(done.stdout)
        except ValueError as error:
            raise Failed(done.stdout + done.stderr) from error
        return told

    def living(self, number: int) -> list[int]:
        """Pids there of the run's processes, asked without hangtop and without the wire."""
        told = subprocess.run(self.hosts.on(number, "ps", "-eo", "pid,stat,args"), capture_output=True, text=True, check=True)
        rows = (line.split(None, 2) for line in told.stdout.splitlines()[1:])
        return [int(pid) for pid, state, words in rows if "train.py" in words and "Z" not in state and "ps -eo" not in words]


def until(is_so: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > end:
            raise Failed(f"{what} did not come")
        time.sleep(0.3)


def expect(is_so: object, said: object) -> None:
    if not is_so:
        raise Failed(str(said))
