"""How a process ended that is not our child.

Linux 6.15 and newer tell it through a pidfd that was opened while the process lived: ioctl `PIDFD_GET_INFO` with
`PIDFD_INFO_EXIT` (include/uapi/linux/pidfd.h), even after its parent has reaped it. Older kernels: only while it is a
zombie, by field 52 of its `stat` (proc(5)), and only with the right to trace it.
"""

from __future__ import annotations

import os
import struct
import sys

from hangtop.sources.proc.table import Identity, Stat

PIDFD_GET_INFO = 0xC040_FF0B
"""_IOWR(0xFF, 11, struct pidfd_info) with the 64 bytes of its first version."""
INFO_EXIT = 1 << 3
INFO = struct.Struct("=QQ11Ii")
"""mask, cgroupid, eleven ids, exit_code."""
MAX_HANDLES = 512


def exit_code(status: int) -> int:
    """The code as a shell's parent sees it: 0…255, or minus the signal that ended it. `status` as `wait` gives it."""
    return os.waitstatus_to_exitcode(status)


class Exits:
    """Holds a handle on each process of interest, so that its end can be told."""

    def __init__(self) -> None:
        self._handles: dict[Identity, int] = {}
        self._zombies: dict[Identity, int] = {}

    def watch(self, stat: Stat) -> None:
        """Remember this process, once. Handles are kept for at most `MAX_HANDLES` processes."""
        if stat.exit_status is not None and stat.state == "Z" and (stat.exit_status or os.geteuid() == 0):
            self._zombies[stat.identity] = stat.exit_status
        if stat.identity in self._handles or len(self._handles) >= MAX_HANDLES or not sys.platform.startswith("linux"):
            return
        try:
            self._handles[stat.identity] = os.pidfd_open(stat.pid)
        except OSError:  # gone already, or a kernel before 5.3: then only a zombie can tell
            return

    def code(self, identity: Identity) -> int | None:
        """Its exit code once it has ended; `None` while it lives, and when the kernel does not tell."""
        status = _exit_status(self._handles[identity]) if identity in self._handles else None
        if status is None:
            status = self._zombies.get(identity)
        return None if status is None else exit_code(status)

    def forget(self, identity: Identity) -> None:
        self._zombies.pop(identity, None)
        handle = self._handles.pop(identity, None)
        if handle is not None:
            os.close(handle)


def _exit_status(handle: int) -> int | None:
    import fcntl

    asked = bytearray(INFO.pack(INFO_EXIT, *[0] * 13))
    try:
        fcntl.ioctl(handle, PIDFD_GET_INFO, asked)
    except OSError:  # a kernel before 6.13 has no such call; one before 6.15 answers ESRCH for a reaped process
        return None
    mask, *_, status = INFO.unpack(asked)
    return int(status) if mask & INFO_EXIT else None
