"""Exit codes of processes that are not our children.

Linux 6.15 and newer tell it through a pidfd that was opened while the process lived: ioctl `PIDFD_GET_INFO` with
`PIDFD_INFO_EXIT` (include/uapi/linux/pidfd.h), even after its parent has reaped it. Older kernels: only while it is a
zombie, by field 52 of its `stat` (proc(5)), and only with the right to trace it.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from contextlib import suppress

from hangtop.records.nodes import node_of
from hangtop.system.processes.table import Identity, Stat

PIDFD_GET_INFO = 0xC040_FF0B
"""_IOWR(0xFF, 11, struct pidfd_info) with the 64 bytes of its first version."""
INFO_EXIT = 1 << 3
INFO = struct.Struct("=QQ11Ii")
"""mask, cgroupid, eleven ids, exit_code."""
MAX_HANDLES = 256


class Exits:
    """Holds a pidfd of each watched process until its code is known. A known code is kept."""

    def __init__(self) -> None:
        self._handles: dict[Identity, int] = {}
        self._codes: dict[Identity, int] = {}

    def watch(self, stat: Stat) -> None:
        """Watch this process; store the code of a zombie. At most `MAX_HANDLES` pidfds are held."""
        if stat.exit_status is not None and (stat.exit_status or os.geteuid() == 0):
            self._codes[stat.identity] = os.waitstatus_to_exitcode(stat.exit_status)
            if stat.identity in self._handles:  # needed no more
                os.close(self._handles.pop(stat.identity))
        known = stat.identity in self._handles or stat.identity in self._codes or node_of(stat.pid) > 0  # no pid of this machine
        if known or len(self._handles) >= MAX_HANDLES or sys.platform != "linux":
            return
        try:
            self._handles[stat.identity] = os.pidfd_open(stat.pid)
        except OSError:  # gone, or a kernel before 5.3: then only a zombie can tell
            return

    def code(self, identity: Identity) -> int | None:
        """0…255, or minus the signal that ended it; `None` while it lives, or if the kernel does not tell."""
        if identity in self._handles and identity not in self._codes:
            asked = bytearray(INFO.pack(INFO_EXIT, *[0] * 13))
            with suppress(OSError):  # a kernel before 6.13 has no such call; one before 6.15 answers ESRCH for a reaped process
                fcntl.ioctl(self._handles[identity], PIDFD_GET_INFO, asked)
                mask, *_, status = INFO.unpack(asked)
                if mask & INFO_EXIT:
                    self._codes[identity] = os.waitstatus_to_exitcode(status)
                    os.close(self._handles.pop(identity))
        return self._codes.get(identity)
