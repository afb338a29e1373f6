"""Whether anybody has a file open, asked of the kernel: what `/proc` shows is only what we may see of the processes that we see.

A write lease is given on a file that nobody else has open or mapped (fcntl(2), F_SETLEASE): not in another container, not by a
thread with files of its own, not under way on a socket. It is given back at once.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket

HELD = frozenset({errno.EAGAIN, errno.EBUSY})


def is_open(path: str) -> bool | None:
    """Of a plain file of ours; `None` where that cannot be told, as on some file systems, or it is gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:  # AGAIN: somebody else holds a lease
        return True if error.errno in HELD else None
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # who opens it now waits until we give it back; SIGIO would end us
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return True if error.errno in HELD else None
    finally:
        os.close(fd)
    return False


def is_heard(path: str) -> bool:
    """Whether a living process, of any container, listens at this Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(path)
        except OSError as error:
            return error.errno in (errno.EAGAIN, errno.EPROTOTYPE)  # its queue is full; it speaks datagrams
    return True
