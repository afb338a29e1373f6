"""Bare `hangtop` in a terminal: two runs that write, listed with what is said of them; `q` leaves the terminal as it was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fakes.processes import running
from tests.fakes.screen_terminal import Terminal

STEPS = "import time\nfor step in range(9999): print(f'step {step}', flush=True); time.sleep(0.5)"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds runs in /proc: Linux only")


def test_several_runs_are_listed_to_choose_one(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(STEPS)
    with (
        (tmp_path / "a.log").open("wb") as first,
        (tmp_path / "b.log").open("wb") as second,
        running(sys.executable, str(script), stdout=first),
        running(sys.executable, str(script), stdout=second),
        Terminal(sys.executable, "-m", "hangtop", "--theme", "light") as terminal,
    ):
        terminal.comes(b"runs on this machine")
        terminal.comes("●".encode())
        terminal.press(b"q")
        terminal.ends()
        assert terminal.process.returncode == 0
