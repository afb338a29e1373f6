"""No demo process outlives the hangtop that started it, however that one ends.

hangtop holds the write end of a FIFO, the processes of the demo the read end. When the write end is closed, even by SIGKILL of
hangtop, the kernel itself sends SIGKILL to the demo's whole process group (`fcntl(2)`, F_SETOWN and F_SETSIG): no thread is
needed that would show up in stacks, and a stopped process dies too. Where F_SETSIG does not exist (macOS), each process has a
thread that reads the FIFO.

A FIFO and no inherited pipe, because the run can be started again: its environment names the path, whoever starts it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Final

MAX_LIFE_S = 600
"""No demo process lives longer, whatever happens: SIGALRM ends it."""
POLL_S = 0.01
ENV = "HANGTOP_DEMO_LIFELINE"


class Lifeline:
    """The end that hangtop holds. `path`: what the processes of the demo are told in `ENV`. Raises `OSError`."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        new = path.with_name(f"{path.name}.new")
        new.unlink(missing_ok=True)
        os.mkfifo(new, 0o600)
        reader = os.open(new, os.O_RDONLY | os.O_NONBLOCK)
        try:
            self._fd: int | None = os.open(new, os.O_WRONLY | os.O_NONBLOCK)
        finally:
            os.close(reader)
        fcntl.flock(self._fd, fcntl.LOCK_EX)  # the kernel releases it when hangtop dies
        new.rename(path)  # only now: a lifeline that is not locked counts as cut

    def cut(self, within_s: float) -> None:
        """End every process that holds on to it, and wait until they are gone, at most so long. Again: does nothing."""
        if self._fd is None:
            return
        os.close(self._fd)
        self._fd = None
        ends_at = time.monotonic() + within_s
        while _has_readers(self.path) and time.monotonic() < ends_at:
            time.sleep(POLL_S)
        self.path.unlink(missing_ok=True)


def hold(*, leader: bool) -> None:
    """Tie this process to the lifeline of its environment. `leader`: it leads the process group, and ties the whole group.

    Ends the process where there is no lifeline, or nobody at its other end: nothing would ever end it.
    """
    signal.alarm(MAX_LIFE_S)
    try:
        fd = os.open(os.environ[ENV], os.O_RDONLY | os.O_NONBLOCK)
    except (KeyError, OSError):
        sys.exit("this is a part of `hangtop demo`, which starts it and ends it: run that instead")
    if is_cut(fd):
        sys.exit("the `hangtop demo` that this run is a part of has ended: start another")
    if not hasattr(fcntl, "F_SETSIG"):
        os.set_blocking(fd, True)
        threading.Thread(target=_end_at_eof, args=(fd,), name="lifeline", daemon=True).start()
    elif leader:
        fcntl.fcntl(fd, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select((fd,), (), (), 0)[0]:  # closed before the kernel was told to watch it
            os.killpg(os.getpgrp(), signal.SIGKILL)


def is_cut(fd: int) -> bool:
    """Whether the hangtop that made this lifeline has ended, or has cut it: it no longer locks it (flock(2))."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _has_readers(path: Path) -> bool:
    """Whether a process holds the read end. To open the write end fails without one (fifo(7))."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        if error.errno not in (errno.ENXIO, errno.ENOENT):
            raise
        return False
    return True


def _end_at_eof(fd: int) -> None:
    while os.read(fd, 1):
        pass
    os._exit(1)
