"""Which network a process sees: containers have their own, and there 127.0.0.1 is another machine."""

from __future__ import annotations

import os
import sys


def is_on_our_network(pid: int) -> bool:
    """Whether it has the network namespace of this process (namespaces(7)). False where that may not be seen."""
    if sys.platform != "linux":
        return True
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino
    except OSError:  # gone meanwhile, or of another user
        return False
