"""Every descriptor of a process: what it is, where its next read is, and which processes hold the other end."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.records.inspection import HeldFile
from hangtop.records.waiting import AwaitedFile, BlockedCall, TcpSocket
from hangtop.system.guard import Guard
from hangtop.system.processes.proc_files import fields_of, read_proc
from hangtop.system.processes.table import ProcessTable
from hangtop.system.waits.holders import Held, find_holders
from hangtop.system.waits.objects import Descriptor, descriptors
from hangtop.system.waits.other_ends import Machine, ends_of, wanted_of
from hangtop.system.waits.sockets import Sockets, read_sockets

MOST_FILES = 400


class HeldFiles(Struct, frozen=True):
    """`sockets`: the TCP sockets among the files, by inode. `left_out`: so many more descriptors there are."""

    files: tuple[HeldFile, ...] = ()
    sockets: dict[int, TcpSocket] = {}
    left_out: int = 0


def held_files(pid: int, table: ProcessTable, holders: Guard[int, tuple[Held, ...]]) -> HeldFiles:
    """By number. The table must be fresh. Raises `OSError`."""
    numbers = sorted(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
    call = BlockedCall(pid, pid, "S", kind="poll", files=tuple(_open_for(pid, numbers[:MOST_FILES])))
    found = tuple(each for each in descriptors(call) if each.link)
    sockets = read_sockets((pid,)) if any(each.kind == "other socket" for each in found) else Sockets()
    wanted = wanted_of((each for each in found if each.kind != "file"), sockets)
    machine = Machine(table.stats, sockets, holders=find_holders(table, wanted, holders))
    ends = ends_of(call, found, machine)
    files = tuple(
        HeldFile(each.awaited.fd, clean_text(each.link), end, _position(pid, each)) for each, end in zip(found, ends, strict=True)
    )
    known = {inode: sockets.tcp_by_inode[inode][1] for each in found if (inode := each.inode) in sockets.tcp_by_inode and inode}
    return HeldFiles(files, known, max(0, len(numbers) - MOST_FILES))


def _open_for(pid: int, numbers: Iterable[int]) -> Iterable[AwaitedFile]:
    """Each descriptor that is still there, with the directions in which it was opened (proc_pid_fd(5))."""
    for number in numbers:
        try:
            mode = os.lstat(f"/proc/{pid}/fd/{number}").st_mode
        except FileNotFoundError:  # closed since
            continue
        yield AwaitedFile(number, bool(mode & 0o400), bool(mode & 0o200))


def _position(pid: int, found: Descriptor) -> int | None:
    if found.kind != "file":
        return None
    try:
        told = fields_of(read_proc(f"/proc/{pid}/fdinfo/{found.awaited.fd}")).get("pos", "")
    except OSError:  # closed since
        return None
    return int(told) if told.isdecimal() else None
