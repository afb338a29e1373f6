"""What befalls the run of the soak, over and over, and which words hangtop may say of it meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TRAINING = Path(__file__).with_name("training.py")
GPU_STATES = (
    "gpus 8\ngpu * jitter=5",
    "gpus 7\ngpu * jitter=5",
    "init driver_not_loaded",
    "gpus 8\nload {load}\ngpu * jitter=5\ngpu 3 resets={load}",
    "gpus 8\nload {load}\ngpu * jitter=5\nproc 0-1 self mem_mib=60300",
    "gpus 0",
)


@dataclass(frozen=True)
class Phase:
    """`words`: what must be said by its end. Before, the words of the phase before may still stand."""

    name: str
    lasts_s: float
    words: tuple[str, ...]


CYCLE = (
    Phase("runs", 300, ("running",)),
    Phase("stands", 270, ("stalled", "hung")),
    Phase("goes on", 240, ("running",)),
    Phase("killed", 60, ("crashed",)),
    Phase("started again", 240, ("running",)),
    Phase("ends", 60, ("finished",)),
)


class Run:
    """The run, its log and how it is told what to do."""

    def __init__(self, folder: Path) -> None:
        self.log, self._control = folder / "train.log", folder / "control"
        self._control.mkdir()
        os.mkfifo(self._control / "go")
        self._process: subprocess.Popen[bytes] | None = None
        self._rotations = 0

    def enter(self, phase: Phase) -> None:
        acts: dict[str, Callable[[], None]] = {
            "runs": self._start,
            "stands": (self._control / "stand").touch,
            "goes on": self._go_on,
            "killed": self.kill,
            "started again": self._start,
            "ends": (self._control / "finish").touch,
        }
        acts[phase.name]()

    def rotate(self) -> None:
        """By rename and by copytruncate in turn, as logrotate would."""
        self._rotations += 1
        older = self.log.with_name("train.log.1")
        if self._rotations % 2:
            self.log.rename(older)
            self.log.touch()
        else:
            older.write_bytes(self.log.read_bytes())
            os.truncate(self.log, 0)

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _start(self) -> None:
        if self._process is not None:
            self._process.wait(10)
        for name in ("stand", "finish"):
            (self._control / name).unlink(missing_ok=True)
        out = self.log.open("ab")
        command = [sys.executable, str(TRAINING), str(self.log), str(self._control)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        out.close()

    def _go_on(self) -> None:
        (self._control / "stand").unlink()
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with suppress(OSError):  # nobody reads there yet
                os.close(os.open(self._control / "go", os.O_WRONLY | os.O_NONBLOCK))
                return
            time.sleep(0.1)


def driver_state(number: int) -> str:
    """What the stand-in driver says in its turn."""
    return GPU_STATES[number % len(GPU_STATES)].format(load=number)


def missed(said: list[tuple[float, str]], phases: list[tuple[float, Phase]], until: float) -> list[str]:
    """Where a word was not said in its phase, or one was that fits neither this nor the phase before. Times are of one clock."""
    wrong = []
    for number, (began, phase) in enumerate(phases):
        ends = phases[number + 1][0] if number + 1 < len(phases) else until
        if ends - began < phase.lasts_s * 0.9:
            continue  # cut short by the end of the soak
        words = [word for at, word in said if began <= at < ends]
        before = phases[number - 1][1].words if number else ()
        if not any(word in phase.words for word in words) and _last(said, began) not in phase.words:
            wrong.append(
                f"{phase.name} at {began:.0f} s: {', '.join(words) or 'nothing new'} was said, not {'/'.join(phase.words)}"
            )
        wrong += [
            f"{phase.name} at {began:.0f} s: {word} was said at {at:.0f} s"
            for at, word in said
            if began <= at < ends and word not in (*phase.words, *before)
        ]
    return wrong


def _last(said: list[tuple[float, str]], at: float) -> str:
    return next((word for when, word in reversed(said) if when < at), "")
