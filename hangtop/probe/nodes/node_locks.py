"""Locks on files on another node, as `hangtop.probe.nodes.node_side.locks` tells them there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.records.nodes import on_node
from hangtop.records.waiting import BlockedCall, OtherEnd
from hangtop.system.waits.holders import Held, Holders
from hangtop.system.waits.locked_files import OpenLocked, holders_of
from hangtop.system.waits.locks import FileLock, LockTable, parse_lock, parse_locks
from hangtop.system.waits.objects import Descriptor
from hangtop.system.waits.other_ends import lock_ends


class NodeLocks(Struct, frozen=True):
    """Those for which one process there waits. `files`: its own that are locked, by descriptor; `paths`: of these. All pids are
    numbers that mean that node."""

    files: Mapping[int, OpenLocked] = {}
    table: LockTable = LockTable()
    holders: Holders = Holders()

    @property
    def living(self) -> frozenset[int]:
        """A lock of POSIX goes with its owner (fcntl(2)): one that is there has one that lives."""
        return frozenset(lock.pid for lock in self.table.held)

    def ends(self, call: BlockedCall) -> tuple[OtherEnd, ...]:
        """What can end the wait of a thread that asks for a lock."""
        found = ((file, self.files.get(file.fd)) for file in call.files)
        mine = tuple(Descriptor(at, "file", file.path, file.inode) for at, file in found if file is not None)
        return lock_ends(call, mine, self.table, self.holders, self.living)

    def locked(self, call: BlockedCall) -> tuple[OtherEnd, ...]:
        """Of one that sleeps: what its process has open and another has locked."""
        return holders_of(call.pid, dict.fromkeys(self.files.values()), self.holders) if call.kind == "sleep" else ()


def locks_told(node: int, told: Mapping[str, Any]) -> NodeLocks:
    """Raises one of `MALFORMED` for what has another form."""
    if not told:
        return NodeLocks()
    files = {int(fd): OpenLocked(clean_text(str(path)), int(inode)) for fd, path, inode in told["mine"]}
    table = parse_locks("\n".join(map(str, told["lines"])))
    awaited = tuple((_there(node, lock), tuple(_there(node, each) for each in in_way)) for lock, in_way in table.awaited)
    held = tuple(
        Held(on_node(node, int(pid)), int(fd), clean_text(str(path)), True, True, int(inode), _through(node, rows))
        for pid, fd, path, inode, rows in told["held"]
    )
    hidden = frozenset(range(-int(told["hidden"]), 0))
    return NodeLocks(files, LockTable(tuple(_there(node, lock) for lock in table.held), awaited), Holders(held, hidden))


def _through(node: int, rows: Any) -> tuple[FileLock, ...]:
    found = (parse_lock(str(row)) for row in rows)
    return tuple(_there(node, lock) for lock in found if lock is not None)


def _there(node: int, lock: FileLock) -> FileLock:
    return replace(lock, pid=on_node(node, lock.pid)) if lock.pid > 0 else lock
