"""Locks on files and who waits for them, from `/proc/locks` (proc_locks(5)). Pure."""

from __future__ import annotations

from msgspec import Struct


class FileLock(Struct, frozen=True):
    """One line. `kind`: POSIX, FLOCK or OFDLCK (fcntl(2), flock(2)). `pid`: of the process that took it, which may have ended
    since while a child holds on to a FLOCK; -1 for OFDLCK, 0 where it is in another pid namespace. `device`: as major:minor, in
    hex, of the file system (other than `stat` says on btrfs and overlayfs). `end`: `None` is the end of the file."""

    kind: str
    exclusive: bool
    pid: int
    device: str
    inode: int
    start: int
    end: int | None

    def conflicts(self, other: FileLock) -> bool:
        """Whether both cannot be held at once, by different holders."""
        same = (self.device, self.inode) == (other.device, other.inode)
        if not same or (self.kind == "FLOCK") != (other.kind == "FLOCK") or not (self.exclusive or other.exclusive):
            return False
        return (other.end is None or self.start <= other.end) and (self.end is None or other.start <= self.end)


class LockTable(Struct, frozen=True):
    """`held`: the locks. `awaited`: by the pid that waits (-1 for OFDLCK), the lock that it asks for and those in its way."""

    held: tuple[FileLock, ...] = ()
    awaited: tuple[tuple[FileLock, tuple[FileLock, ...]], ...] = ()

    def wanted_by(self, pid: int) -> tuple[tuple[FileLock, tuple[FileLock, ...]], ...]:
        """What this process asks for."""
        return tuple(each for each in self.awaited if each[0].pid == pid)


def parse_locks(text: str) -> LockTable:
    """`/proc/locks`. Waiters, marked by `->`, follow the lock in their way; one who waits behind another waiter is set further
    in. Each is told with all locks that conflict with it: the kernel lists it under one of them only."""
    held: list[FileLock] = []
    waiters: list[FileLock] = []
    for line in text.splitlines():
        _, _, row = line.partition(": ")
        waits = row.lstrip().startswith("->")
        if (lock := parse_lock(row.replace("->", " "))) is not None:
            (waiters if waits else held).append(lock)
    found = ((lock, tuple(other for other in held if _in_way(other, lock))) for lock in waiters)
    return LockTable(tuple(held), tuple(found))


def _in_way(held: FileLock, wanted: FileLock) -> bool:
    """POSIX locks of one process never conflict with each other."""
    return held.conflicts(wanted) and not (held.kind == wanted.kind == "POSIX" and held.pid == wanted.pid)


def parse_lock(row: str) -> FileLock | None:
    """`POSIX  ADVISORY  WRITE 4482 fe:00:2859407 5 14`; `None` for a lease or what else stands there."""
    words = row.split()
    if len(words) < 7 or words[0] not in ("POSIX", "FLOCK", "OFDLCK"):
        return None
    device, _, inode = words[4].rpartition(":")
    end = None if words[6] == "EOF" else int(words[6])
    return FileLock(words[0], words[2] == "WRITE", int(words[3]), device, int(inode), int(words[5]), end)


def held_through(fdinfo: str) -> tuple[FileLock, ...]:
    """The locks held through one descriptor, from the lines `lock:` of its fdinfo (proc_pid_fdinfo(5)). A FLOCK or OFDLCK belongs
    to the open file, so that every process which inherited it shows it; a POSIX lock belongs to one process."""
    rows = (line.partition(": ")[2] for line in fdinfo.splitlines() if line.startswith("lock:"))
    return tuple(lock for row in rows if (lock := parse_lock(row)) is not None)
