"""Files that a process has open and another has locked. Whoever sleeps between two attempts to lock one is in no call that
tells it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hangtop.records.waiting import OtherEnd, WaitObject
from hangtop.system.processes.table import ProcessTable
from hangtop.system.waits.holders import Holders
from hangtop.system.waits.locks import LockTable


class OpenLocked(Struct, frozen=True):
    """An open file that somebody has locked. The number of its inode may be another file's, on another file system."""

    path: str
    inode: int


def open_locked(table: ProcessTable, pid: int, locks: LockTable) -> tuple[OpenLocked, ...]:
    """The files of this process in which another seems to have an exclusive lock. Raises `OSError`."""
    inodes = {lock.inode for lock in locks.held if lock.exclusive and lock.pid != pid}
    if not inodes:
        return ()
    plain = [file for file in table.open_files(pid) if file.target.startswith("/") and not file.target.startswith("/dev/")]
    found = ((file.target, table.inode(pid, file.fd)) for file in plain)
    return tuple({OpenLocked(path, inode): None for path, inode in found if inode in inodes and inode is not None})


def holders_of(pid: int, files: Iterable[OpenLocked], holders: Holders) -> tuple[OtherEnd, ...]:
    """Who has them locked, as the descriptors of all processes tell. What the process itself has locked keeps it from nothing; a
    lock of an open file belongs to all that inherited it."""
    ends = []
    for file in files:
        locked = [(each.pid, lock) for each in holders.of_inode(file.inode) for lock in each.locks if lock.exclusive]
        pids = {holder for holder, lock in locked if lock.kind != "POSIX" or lock.pid == holder}
        if pids and pid not in pids:
            shown = WaitObject("file lock", inode=file.inode, path=file.path, lock=locked[0][1].kind)
            ends.append(OtherEnd(shown, tuple(sorted(pids)), hidden=len(holders.hidden)))
    return tuple(ends)
