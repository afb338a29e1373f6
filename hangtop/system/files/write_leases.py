"""Whether any process has a file open, asked of the kernel, because `/proc` shows only what we may see.

The kernel gives a write lease only if no other process has the file open or mapped (fcntl(2), F_SETLEASE), not even in another
container, in a thread with files of its own, or in transit on a socket. The lease is given back at once.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket

HELD = frozenset({errno.EAGAIN, errno.EBUSY})


def is_open(path: str) -> bool | None:
    """Whether a plain file of ours is open; `None` if it is gone, or the file system cannot tell."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:  # EAGAIN: another process holds a lease
        return True if error.errno in HELD else None
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # a process that opens it now waits for us; SIGIO would end us
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return True if error.errno in HELD else None
    finally:
        os.close(fd)
    return False


def is_heard(path: str) -> bool:
    """Whether a process of any container listens at this Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(path)
        except OSError as error:
            return error.errno in (errno.EAGAIN, errno.EPROTOTYPE)  # its queue is full; it speaks datagrams
    return True
