"""Real processes that write the log of a rank each, in the order that the test gives: a line is written when `say` returns."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.processes import running

WRITER = """
import sys, time
log = open(sys.argv[1], "a")
for command in sys.stdin:
    kind, _, text = command.rstrip("\\n").partition(" ")
    if kind == "raise":
        log.write('Traceback (most recent call last):\\n  File "train.py", line 9, in main\\n    step()\\n' + text + "\\n")
    elif sys.argv[2] == "stamped":
        now = time.time()
        log.write(time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now)) + f",{int(now % 1 * 1000):03d} INFO {text}\\n")
    else:
        log.write(text + "\\n")
    log.flush()
    print(flush=True)
"""
APART_NS = 20_000_000
"""By so much the clock has moved on when a line is written: more than the digits of a stamp tell, and than the tick of the kernel
by which files are dated."""


class RankWriter:
    """The process of one rank."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def say(self, text: str) -> None:
        """Writes a line."""
        self._do(f"say {text}")

    def step(self, number: int) -> None:
        self.say(f"step {number}/100 loss {1 / number:.4f}")

    def fail(self, exception: str) -> None:
        """Writes a traceback, which tells no time."""
        self._do(f"raise {exception}")

    def _do(self, command: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        begun = time.time_ns()
        self._process.stdin.write(command.encode() + b"\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == b"\n"
        while time.time_ns() - begun < APART_NS:
            time.sleep(APART_NS / 4e9)


@contextmanager
def rank_writer(log: Path, *, stamped: bool = True) -> Iterator[RankWriter]:
    """One that runs until the end. `stamped`: its lines, but for tracebacks, begin with the time."""
    arguments = (sys.executable, "-c", WRITER, str(log), "stamped" if stamped else "plain")
    with running(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield RankWriter(process)
