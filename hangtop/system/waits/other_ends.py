"""Which processes hold the other end of what a thread waits at. Pure: all that was read is in `Machine`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from hangtop.records.waiting import BlockedCall, OtherEnd, WaitObject
from hangtop.system.processes.table import Stat
from hangtop.system.waits.holders import Holders, Wanted
from hangtop.system.waits.locks import FileLock, LockTable
from hangtop.system.waits.objects import Descriptor
from hangtop.system.waits.socket_ends import socket_end
from hangtop.system.waits.sockets import Sockets


class Machine(Struct, frozen=True):
    """What was read of this machine in one look."""

    stats: Mapping[int, Stat]
    sockets: Sockets = Sockets()
    locks: LockTable = LockTable()
    holders: Holders = Holders()


def wanted_of(found: Iterable[Descriptor], sockets: Sockets) -> Wanted:
    """What to look for in the descriptors of all processes."""
    links: set[str] = set()
    names: set[str] = set()
    for each in found:
        match each.kind:
            case "pipe":
                links.add(each.link)
            case "other socket":
                links |= socket_end(each.inode, sockets).links
            case "fifo" | "file":
                names.add(each.path.rpartition("/")[2])
    return Wanted(frozenset(links), frozenset(names - {""}))


def ends_of(call: BlockedCall, found: tuple[Descriptor, ...], machine: Machine) -> tuple[OtherEnd, ...]:
    """What can end this wait: any of these. Empty where nothing tells, or only a clock or a signal does."""
    match call.kind:
        case "futex":  # a private one is found by the memory that it lies in: only threads of one process share that (futex(2))
            alone = call.shared is False
            return (OtherEnd(WaitObject("futex", shared=call.shared), (call.pid,) if alone else (), known=alone),)
        case "file lock":
            return lock_ends(call, found, machine.locks, machine.holders, machine.stats.keys())
        case "child" if not found:
            return (_child_end(call, machine.stats),)
    return tuple(_end(each, machine) for each in found)


def _end(at: Descriptor, machine: Machine) -> OtherEnd:
    reads, writes = at.awaited.reads, at.awaited.writes
    match at.kind:
        case "other socket":
            return _socket_end(at, machine)
        case "pipe" | "fifo":
            shown = WaitObject(at.kind, reads, writes, at.inode, at.path)
            held = machine.holders.of_link(at.link) if at.kind == "pipe" else machine.holders.of_inode(at.inode or -1)
            across = (each.pid for each in held if (reads and each.writes) or (writes and each.reads))
            hidden = len(machine.holders.hidden)
            return OtherEnd(shown, tuple(sorted(set(across))), hidden=hidden, known=reads or writes)
        case "process":
            alive = at.process is not None and at.process > 0
            return OtherEnd(WaitObject("process", reads), (at.process,) if at.process and alive else (), known=alive)
    return OtherEnd(WaitObject(at.kind, reads, writes, at.inode, at.path), known=False)


def _socket_end(at: Descriptor, machine: Machine) -> OtherEnd:
    end = socket_end(at.inode, machine.sockets, reads=at.awaited.reads, writes=at.awaited.writes)
    if not end.inodes:
        return OtherEnd(end.object, elsewhere=end.elsewhere, known=end.known)
    pids = {each.pid for link in end.links for each in machine.holders.of_link(link)}
    return OtherEnd(
        end.object,
        tuple(sorted(pids)),
        hidden=len(machine.holders.hidden),
        uid=None if pids else end.uid,
        not_accepted=end.not_accepted,
    )


def lock_ends(
    call: BlockedCall, found: tuple[Descriptor, ...], locks: LockTable, holders: Holders, living: Collection[int]
) -> tuple[OtherEnd, ...]:
    """`/proc/locks` tells who waits by pid, except for locks of an open file (OFDLCK), which are told by the file. `living`:
    pids."""
    file = found[0] if found else None
    asked = locks.wanted_by(call.pid) or locks.wanted_by(-1)
    for wanted, in_way in asked:
        if wanted.inode == (wanted.inode if file is None and wanted.pid > 0 else file.inode if file is not None else None):
            shown = WaitObject("file lock", inode=wanted.inode, path=file.path if file is not None else "", lock=wanted.kind)
            pids = {pid for lock in in_way for pid in _owners(lock, holders, living)}
            hidden = len(holders.hidden)
            return (OtherEnd(shown, tuple(sorted(pids)), all_needed=len(in_way) > 1, hidden=hidden),)
    path = file.path if file is not None else ""
    return (OtherEnd(WaitObject("file lock", inode=file.inode if file is not None else None, path=path), known=False),)


def _owners(lock: FileLock, holders: Holders, living: Collection[int]) -> set[int]:
    """A lock of an open file belongs to all that have this file open, also if the process that took it has ended: the pid in
    `/proc/locks` counts only where nobody may look."""
    if lock.kind == "POSIX":
        return {lock.pid}.intersection(living)
    through = {each.pid for each in holders.of_inode(lock.inode) if lock in each.locks}
    return through or {lock.pid} & holders.hidden


def _child_end(call: BlockedCall, stats: Mapping[int, Stat]) -> OtherEnd:
    """Children that live. A pid is told as the waiting process writes it: in another pid namespace it may mean nobody here."""
    wanted, own = call.child, stats.get(call.pid)
    children = [stat for stat in stats.values() if stat.ppid == call.pid and stat.state not in "ZX"]
    if wanted is None:
        children = []
    elif wanted > 0:
        children = [stat for stat in children if stat.pid == wanted]
    elif wanted != -1:
        group = -wanted if wanted else own.group if own is not None else None
        children = [stat for stat in children if stat.group == group]
    pids = tuple(sorted(stat.pid for stat in children))
    return OtherEnd(WaitObject("child"), pids, known=bool(pids))
