"""No demo process outlives the hangtop that started it, however that one ends.

hangtop holds the write end of a pipe, the processes of the demo the read end. When the write end is gone, even by SIGKILL of
hangtop, the kernel itself sends SIGKILL to the demo's whole process group (`fcntl(2)`, F_SETOWN and F_SETSIG): no thread is
needed that would show up in stacks, and a stopped process dies too. Where F_SETSIG does not exist (macOS), each process has a
thread that reads the pipe.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import threading

MAX_LIFE_S = 600
"""No demo process lives longer, whatever happens: SIGALRM ends it."""


ENV = "HANGTOP_DEMO_LIFELINE"


def inherited() -> int:
    """The read end that this process was started with. Without one it ends here: nothing would ever end it."""
    try:
        fd = int(os.environ[ENV])
        os.fstat(fd)
    except (KeyError, ValueError, OSError):
        sys.exit("this is a part of `hangtop demo`, which starts it and ends it: run that instead")
    return fd


def hold(fd: int, *, leader: bool) -> None:
    """Tie this process to the pipe behind `fd`. `leader`: it leads the process group, so it binds the group's fate too."""
    signal.alarm(MAX_LIFE_S)
    if not hasattr(fcntl, "F_SETSIG"):
        threading.Thread(target=_end_at_eof, args=(fd,), name="lifeline", daemon=True).start()
    elif leader:
        fcntl.fcntl(fd, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
        _end_if_closed_already(fd)


def _end_if_closed_already(fd: int) -> None:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if poll.poll(0):  # closed before the kernel was told to watch it
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _end_at_eof(fd: int) -> None:
    while os.read(fd, 1):
        pass
    os._exit(1)
