"""Real processes for tests: each in a session of its own, and the whole of it killed at the end, however the test ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import Stat
from hangtop.system.processes.tree import ancestors

Seen = TypeVar("Seen")

PATIENCE_S = 90.0
"""Bound of a wait: longer than that is a hang, never a slow machine. It costs nothing where what is waited for comes."""


class Family:
    """The table of this machine, of the family of one process only, as a rule this test: what other programs hold here is none of
    its business.

    A live Python program elsewhere keeps every `psm_` and `sem.` made in its time, for it may know their names.
    """

    hidden: frozenset[int] = frozenset()
    """Pids that it does not show, like those of another container."""

    def __init__(self, of: int | None = None) -> None:
        self._real = open_table()
        self._of = os.getpid() if of is None else of

    @property
    def stats(self) -> Mapping[int, Stat]:
        everybody = self._real.stats
        above = ancestors(everybody, self._of)
        family = {pid for pid in everybody if pid in above or self._of in (pid, *ancestors(everybody, pid))}
        return {pid: everybody[pid] for pid in family - self.hidden}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@contextmanager
def running(*argv: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process and all that it starts in its session."""
    process = subprocess.Popen(argv, start_new_session=True, **options)
    try:
        yield process
    finally:
        end_group(process)


@contextmanager
def python(program: str, *arguments: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A Python program given as text."""
    with running(sys.executable, "-c", program, *arguments, **options) as process:
        yield process


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the group that this process leads, members whose leader is gone included, and reap it."""
    with suppress(ProcessLookupError):  # nobody is left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def eventually(look: Callable[[], Seen | None], what: str = "it") -> Seen:
    """The first truthy answer of `look`. Fails when there is none in `PATIENCE_S`."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if answer := look():
            return answer
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen within {PATIENCE_S:.0f} s")
