"""Memory that is free is given back to the kernel: glibc keeps what small pieces left behind for good."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Of a heap that was large for a while, what is free at once. Elsewhere than with glibc, nothing."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
