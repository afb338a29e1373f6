"""Memory without a name that can be handed to a child as an open file."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress


def unnamed_memory(size: int) -> int:
    """An open file of `size` bytes, in memory where the system can do that. It takes what is written, not `size`. Raises
    `OSError`."""
    if hasattr(os, "memfd_create"):
        with suppress(OSError):  # forbidden in some sandboxes
            return _sized(os.memfd_create("hangtop-pipe"), size)
    with tempfile.TemporaryFile(prefix="hangtop-") as file:
        return _sized(os.dup(file.fileno()), size)


def _sized(fd: int, size: int) -> int:
    try:
        os.ftruncate(fd, size)
    except OSError:
        os.close(fd)
        raise
    return fd
