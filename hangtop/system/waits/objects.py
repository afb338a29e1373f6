"""What a descriptor of a process is: a pipe, a socket, a file … (proc_pid_fd(5), proc_pid_fdinfo(5))."""

from __future__ import annotations

import os
import stat

from msgspec import Struct

from hangtop.records.waiting import AwaitedFile, BlockedCall, ObjectKind
from hangtop.system.processes.proc_files import fields_of, read_proc, read_text
from hangtop.system.waits.holders import DELETED

ANONYMOUS: dict[str, ObjectKind] = {
    "[eventfd]": "eventfd",
    "[eventpoll]": "epoll",
    "[timerfd]": "timer",
    "[signalfd]": "signals",
    "[pidfd]": "process",
    "inotify": "file events",
    "[fanotify]": "file events",
    "[io_uring]": "io ring",
}
"""What stands behind `anon_inode:` in the link of a descriptor."""
LOCAL = frozenset("bcachefs btrfs devtmpfs ext2 ext3 ext4 f2fs overlay ramfs rootfs tmpfs ubifs xfs zfs".split())
"""File systems that can be asked whether an open file is a FIFO, without waiting for a server. Elsewhere it counts as a file."""
TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console", "/dev/ptmx")


class Descriptor(Struct, frozen=True):
    """What a thread waits at, before it is known which socket that is. `link`: what `/proc/PID/fd/N` points to. `process`: of a
    pidfd. `awaited`: for reading, writing or both."""

    awaited: AwaitedFile
    kind: ObjectKind
    link: str = ""
    inode: int | None = None
    process: int | None = None

    @property
    def path(self) -> str:
        return self.link.removesuffix(DELETED) if self.link.startswith("/") else ""


def descriptors(call: BlockedCall) -> tuple[Descriptor, ...]:
    """What each descriptor of this call is, without touching a file that lies on a server. Ask through a `Guard` all the same.
    Raises `OSError`."""
    if call.kind == "open":
        return (_opened(call),) if call.path else ()
    return tuple(_descriptor(call.pid, call.tid, file) for file in call.files)


def _descriptor(pid: int, tid: int, awaited: AwaitedFile) -> Descriptor:
    folder = f"/proc/{pid}/task/{tid}"
    try:
        link = os.readlink(f"{folder}/fd/{awaited.fd}")
    except FileNotFoundError:  # closed, but still in an epoll set
        return Descriptor(awaited, "unknown", "", awaited.inode)
    kind, _, rest = link.partition(":")
    inode = int(rest[1:-1]) if rest.startswith("[") and rest[1:-1].isdecimal() else None
    if awaited.inode is not None and inode is not None and awaited.inode != inode and kind in ("pipe", "socket"):
        return Descriptor(awaited, "unknown", "", awaited.inode)  # another file has this number by now
    match kind:
        case "pipe":
            return Descriptor(awaited, "pipe", link, inode)
        case "socket":
            return Descriptor(awaited, "other socket", link, inode)
        case "pidfd":  # Linux 6.9 and later
            return Descriptor(awaited, "process", link, process=_process(folder, awaited.fd))
        case "anon_inode":
            found = ANONYMOUS.get(rest, "unknown")
            return Descriptor(awaited, found, link, process=_process(folder, awaited.fd) if found == "process" else None)
    if link.startswith(TERMINALS):
        return Descriptor(awaited, "terminal", link)
    fdinfo = fields_of(read_proc(f"{folder}/fdinfo/{awaited.fd}"))
    if _mount_kind(folder, fdinfo.get("mnt_id", "")) not in LOCAL:
        return Descriptor(awaited, "file", link, int(fdinfo["ino"]) if "ino" in fdinfo else None)
    return _of_path(awaited, link, f"{folder}/fd/{awaited.fd}")


def _mount_kind(folder: str, mount: str) -> str:
    """The kind of file system with this number: field 1 of mountinfo; the kind follows a dash (proc_pid_mountinfo(5))."""
    for line in read_text(f"{folder}/mountinfo").splitlines():
        words = line.split()
        if words and words[0] == mount and "-" in words:
            return words[words.index("-") + 1]
    return ""


def _opened(call: BlockedCall) -> Descriptor:
    """The file that is being opened: a FIFO waits for its other end, as the kernel's function tells, all else for a file system,
    which is left alone."""
    awaited, path = call.files[0], call.path or ""
    if not path.startswith("/") or call.wait != "pipe":
        return Descriptor(awaited, "file", path)
    return _of_path(awaited, path, f"/proc/{call.pid}/root{path}")


def _of_path(awaited: AwaitedFile, link: str, path: str) -> Descriptor:
    """`path`: where we can look at the file that its process knows as `link`."""
    try:
        told = os.stat(path)
    except FileNotFoundError:
        return Descriptor(awaited, "unknown", link)
    return Descriptor(awaited, _kind_of(told.st_mode), link, told.st_ino)


def _kind_of(mode: int) -> ObjectKind:
    if stat.S_ISFIFO(mode):
        return "fifo"
    if stat.S_ISDIR(mode):
        return "folder"
    return "device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "file"


def _process(folder: str, fd: int) -> int | None:
    """The pid behind a pidfd: -1 once it was reaped (pidfd_open(2))."""
    for line in read_proc(f"{folder}/fdinfo/{fd}").splitlines():
        if line.startswith(b"Pid:"):
            return int(line[4:])
    return None
