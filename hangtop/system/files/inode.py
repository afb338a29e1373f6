"""Which file it is, by device and inode, without asking a file server: it may be dead, and would be waited for."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from typing import Any

Inode = tuple[int, int]
"""(device, inode), as `os.stat` gives them."""

AT_FDCWD, DONT_SYNC, INO = -100, 0x4000 | 0x800, 0x100
"""include/uapi/linux/fcntl.h, stat.h: what is known here already is enough, and nothing is mounted for it."""
SIZE, PLACE_OF_INODE, PLACE_OF_DEVICE = 256, 32, 136


def inode_of(path: str) -> Inode:
    """Of the file that this leads to; of `/proc/PID/fd/N` too, whatever its name reads like from here. Raises `OSError`."""
    statx = _statx()
    if statx is None:
        found = os.stat(path)
        return found.st_dev, found.st_ino
    told = ctypes.create_string_buffer(SIZE)
    if statx(AT_FDCWD, os.fsencode(path), DONT_SYNC, INO, told) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    (inode,) = struct.unpack_from("=Q", told, PLACE_OF_INODE)
    return os.makedev(*struct.unpack_from("=II", told, PLACE_OF_DEVICE)), inode


@cache
def _statx() -> Any:
    """The call of the C library (statx(2)); `None` where that is older than 2018."""
    return getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
