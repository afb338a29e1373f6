"""On which mount does a blocked process wait, and does that file system answer at all?

The file is told by the system call of the main thread (/proc/PID/syscall, proc(5)): its descriptor, or the path in its memory.
`stat -f` in a child tells whether the mount answers; the child may be left behind, because statfs waits for a dead server.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from hangtop.common.clean_text import clean_text
from hangtop.diagnosis.status.kernel_block import is_blocked
from hangtop.records.process import BlockedOn, Process
from hangtop.system.files.network_filesystems import mount_of, unescaped
from hangtop.system.guard import Guard
from hangtop.system.processes.proc_files import read_text

BY_DESCRIPTOR = {
    "x86_64": frozenset({0, 1, 5, 8, 16, 17, 18, 19, 20, 40, 73, 74, 75, 77, 78, 138, 217, 277, 285, 295, 296, 306}),
    "aarch64": frozenset({25, 32, 44, 46, 47, 61, 62, 63, 64, 65, 66, 67, 68, 71, 80, 82, 83, 267}),
}
"""Calls whose first argument is the file: read, write, fsync, fstat, getdents, fallocate …"""
BY_PATH = {
    "x86_64": {2: 0, 4: 0, 6: 0, 21: 0, 76: 0, 80: 0, 82: 0, 83: 0, 87: 0, 137: 0}
    | {257: 1, 258: 1, 262: 1, 263: 1, 269: 1, 332: 1, 439: 1},
    "aarch64": {34: 1, 35: 1, 43: 0, 45: 0, 48: 1, 49: 0, 56: 1, 78: 1, 79: 1, 291: 1, 439: 1},
}
"""Calls with a path, and which of the arguments it is: open, stat, rename, mkdir, openat, statx …"""
FILE_SERVERS = ("request_wait_answer", "fuse_", "nfs", "rpc_", "cifs", "ceph", "p9_")
LONGEST_PATH = 4096
LIMIT_S = 2.0
AGAIN_S = 10.0


def waits_for_a_mount(process: Process) -> bool:
    """Blocked in the kernel, or in an interruptible wait for a file server, as FUSE has them."""
    return is_blocked(process) or (process.state == "S" and (process.wchan or "").startswith(FILE_SERVERS))


class BlockedMounts:
    """The files for which processes are blocked. Each process is read once while it stays blocked, each mount every ten
    seconds."""

    def __init__(self) -> None:
        self._files: Guard[tuple[int, int], str | None] = Guard()
        self._found: dict[tuple[int, int], str | None] = {}
        self._asked: dict[str, _MountCheck] = {}

    def find(self, blocked: Iterable[Process], now: float) -> tuple[BlockedOn, ...]:
        """The processes of `blocked` whose file is known, each with its mount. Never waits."""
        there = {(process.pid, process.start_ticks): process for process in blocked}
        self._found = {key: file for key, file in self._found.items() if key in there}
        new = {key: partial(file_of, key[0]) for key in there if key not in self._found}
        for key, answer in self._files.ask(new).items():
            self._found[key] = None if isinstance(answer, OSError) else answer
        return tuple(self._blocked_on(pid, file, now) for (pid, _), file in self._found.items() if file is not None)

    def _blocked_on(self, pid: int, file: str, now: float) -> BlockedOn:
        mount, kind, device = mount_of(os.path.normpath(file), _mounts(pid)) or ("/", "", "")
        check = self._asked.get(mount)
        if check is None or (check.ended and now - check.at > AGAIN_S):
            check = self._asked[mount] = _MountCheck(mount, now)
        return BlockedOn(pid, clean_text(file), clean_text(mount), clean_text(kind), clean_text(device), check.answers())


class _MountCheck:
    """`stat -f MOUNT` in a child. One that hangs is left behind: it cannot be killed either."""

    def __init__(self, mount: str, now: float) -> None:
        self.at = now
        self._began = time.monotonic()
        tool = shutil.which("stat")
        argv = [tool or "stat", "-f", "--", mount]
        quiet = subprocess.DEVNULL
        self._child = subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True) if tool else None

    @property
    def ended(self) -> bool:
        return self._child is None or self._child.poll() is not None

    def answers(self) -> bool | None:
        """Whether the mount answers; `None` while that is open, or without `stat`."""
        if self._child is None:
            return None
        if self._child.poll() is not None:
            return self._child.returncode == 0
        return False if time.monotonic() - self._began > LIMIT_S else None


def file_of(pid: int) -> str | None:
    """The file of the main thread's system call; `None` for other calls. Raises `OSError` without permission."""
    words = Path(f"/proc/{pid}/syscall").read_text().split()
    if len(words) < 7 or not words[0].isdecimal():
        return None
    number, arguments = int(words[0]), [int(word, 16) for word in words[1:7]]
    machine = platform.machine()
    if number in BY_DESCRIPTOR.get(machine, ()):
        target = os.readlink(f"/proc/{pid}/fd/{arguments[0]}")
        return target.removesuffix(" (deleted)") if target.startswith("/") else None
    place = BY_PATH.get(machine, {}).get(number)
    if place is None:
        return None
    path = _string(f"/proc/{pid}/mem", arguments[place])
    return os.path.join(os.readlink(f"/proc/{pid}/cwd"), path) if path else None


def _string(memory: str, address: int) -> str:
    """The zero-terminated text at this address, read by pages, because the next one may not be there."""
    found = b""
    with open(memory, "rb", buffering=0) as file:
        while len(found) < LONGEST_PATH and b"\0" not in found:
            file.seek(address + len(found))
            found += file.read(min(256, 4096 - (address + len(found)) % 4096)) or b"\0"
    return found.partition(b"\0")[0].decode("utf-8", "replace")


def _mounts(pid: int) -> tuple[tuple[str, str, str], ...]:
    """(mount point, kind, device) of all mounts as this process sees them (`mountinfo`, proc(5))."""
    found = []
    for line in read_text(f"/proc/{pid}/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        words, about = before.split(), after.split()
        if len(words) >= 5 and len(about) >= 2:
            found.append((unescaped(words[4]), about[0], unescaped(about[1])))
    return tuple(found)
