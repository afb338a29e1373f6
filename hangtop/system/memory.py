"""Memory: given back to the kernel, or without a name and handed to a child as an open file."""

from __future__ import annotations

import os
from contextlib import suppress


def give_back() -> None:
    """Give free memory back to the kernel after a moment with a large heap: glibc keeps freed small pieces for ever. Does nothing
    without glibc."""
    import ctypes  # the screen, which never gives back, starts without it

    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def unnamed_memory(size: int) -> int:
    """An open file of `size` bytes, in memory where the system can do that. It takes what is written, not `size`. Raises
    `OSError`."""
    if hasattr(os, "memfd_create"):
        with suppress(OSError):  # forbidden in some sandboxes
            return _sized(os.memfd_create("hangtop-pipe"), size)
    import tempfile  # 5 ms and 1 MB with what it imports, seldom needed

    with tempfile.TemporaryFile(prefix="hangtop-") as file:
        return _sized(os.dup(file.fileno()), size)


def _sized(fd: int, size: int) -> int:
    try:
        os.ftruncate(fd, size)
    except OSError:
        os.close(fd)
        raise
    return fd
