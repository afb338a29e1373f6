"""What the suite itself sees of a run: the steps in its log, its silence, and its processes. It knows nothing of hangtop."""

from __future__ import annotations

import ctypes
import os
import re
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.scenarios.case import log_files

PR_SET_CHILD_SUBREAPER = 36
"""Of linux/prctl.h."""
KILL_S = 10.0
"""Bound of the wait for killed processes, a choice: only a call that the kernel does not break off takes so long."""


class LogWatch:
    """Counts the steps in a log file or a folder of them, from where they end when the watch begins."""

    def __init__(self, log: Path, step: str, *, redrawn: bool = False) -> None:
        self.log = log
        self.step = re.compile(step)
        self.redrawn = redrawn
        """The same step may be shown again."""
        self.skip = {file: file.stat().st_size for file in log_files(log)}
        self.steps = 0
        self.last_step = time.time()

    def look(self) -> int:
        """How many steps there are by now."""
        found = [match[0] for file in log_files(self.log) for match in self.step.finditer(self._text(file))]
        count = len(set(found) if self.redrawn else found)
        if count > self.steps:
            self.steps, self.last_step = count, time.time()
        return self.steps

    def silent_s(self) -> float:
        """How long nothing has been written."""
        written = [file.stat().st_mtime for file in log_files(self.log)]
        return time.time() - max(written) if written else 0.0

    def step_lines(self) -> list[str]:
        """The lines with a step, so far."""
        lines = [line for file in log_files(self.log) for line in re.split(r"[\r\n]+", self._text(file))]
        return [line for line in lines if self.step.search(line)]

    def _text(self, file: Path) -> str:
        return file.read_bytes()[self.skip.get(file, 0) :].decode(errors="replace")


def become_reaper() -> None:
    """Orphans of the run become children of this process, so that all of them are found at the end."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def reap(own: set[int]) -> None:
    """Take the exit codes of orphans, as init does, but not of the children that someone here waits for."""
    for child in psutil.Process().children():
        if child.pid not in own:
            with suppress(ChildProcessError):
                os.waitpid(child.pid, os.WNOHANG)


def alive(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def left_over(apart_from: set[int]) -> bool:
    """Whether anything that descends from this process still lives."""
    return any(child.pid not in apart_from and alive(child.pid) for child in psutil.Process().children(recursive=True))


def end_all() -> None:
    """Kill all that descends from this process, stopped or not, until there is nothing left; then remove the shared memory that
    it would have removed.

    It goes by descent from a reaper, not by groups: some programs put a part of themselves into a session of its own, and a fault
    may kill what started it.
    """
    shared = {path for child in psutil.Process().children(recursive=True) for path in _shared_memory(child.pid)}
    _kill_all()
    for path in shared:
        path.unlink(missing_ok=True)


def _shared_memory(pid: int) -> set[Path]:
    """The named memory and semaphores that only a run's processes have mapped."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
    except OSError:
        return set()
    return {Path(name) for name in re.findall(r"(/dev/shm/(?:psm_|sem\.mp-)\S+)$", maps, re.MULTILINE)}


def _kill_all() -> None:
    ends = time.monotonic() + KILL_S
    while time.monotonic() < ends:
        left = psutil.Process().children(recursive=True)
        if not left:
            return
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()  # psutil looks at the start time again
        for process in left:
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
        time.sleep(0.05)
