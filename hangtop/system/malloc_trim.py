"""Gives free memory back to the kernel: glibc keeps freed small pieces for ever."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """After a moment with a large heap. Does nothing without glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
