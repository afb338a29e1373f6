"""One look at what the threads of some processes wait for, with the other ends: reads all that it takes, once for all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from hangtop.records.waiting import BlockedCall, TcpSocket, ThreadWait, WaitReading
from hangtop.system.guard import Guard
from hangtop.system.network.connections import socket_inodes
from hangtop.system.processes.proc_files import read_text
from hangtop.system.processes.table import OpenFile, ProcessTable
from hangtop.system.waits.blocked_call import MAX_THREADS, blocked_call, thread_ids
from hangtop.system.waits.holders import Held, Wanted, find_holders
from hangtop.system.waits.locked_files import OpenLocked, holders_of, open_locked
from hangtop.system.waits.locks import LockTable, parse_locks
from hangtop.system.waits.objects import Descriptor, descriptors
from hangtop.system.waits.other_ends import Machine, ends_of, wanted_of
from hangtop.system.waits.sockets import Sockets, read_sockets

Thread = tuple[int, int]
"""pid and thread id."""


class WaitReader:
    """Remembers only who does not answer. Linux alone: elsewhere there are no threads to be told."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._lists: Guard[int, tuple[int, ...]] = Guard()
        self._calls: Guard[Thread, BlockedCall] = Guard()
        self._objects: Guard[Thread, tuple[Descriptor, ...]] = Guard()
        self._files: Guard[int, tuple[OpenFile, ...]] = Guard()
        self._holders: Guard[int, tuple[Held, ...]] = Guard()
        self._locked: Guard[int, tuple[OpenLocked, ...]] = Guard()

    def look(self, pids: Collection[int], *, every_thread: bool = False, counters: bool = True) -> WaitReading:
        """What these processes wait for; their first threads, or all. `counters`: also of the TCP sockets at which none of these
        threads waits. The table must be fresh."""
        calls, whole, late = self._blocked(pids, every_thread=every_thread)
        found = self._found(calls)
        held = self._sockets_of(pids) if counters else {}
        seen = [each for thread in found.values() for each in thread]
        has_sockets = any(held.values()) or any(each.kind == "other socket" for each in seen)
        sockets = read_sockets(pids) if has_sockets else Sockets()
        locks = read_locks() if any(call.kind in ("file lock", "sleep") for call in calls) else LockTable()
        locked = self._locked_files(calls, locks)
        holders = find_holders(self._table, _wanted(wanted_of(seen, sockets), locked), self._holders)
        machine = Machine(self._table.stats, sockets, locks, holders)
        return WaitReading(
            tuple(
                ThreadWait(
                    call,
                    ends_of(call, found.get((call.pid, call.tid), ()), machine),
                    holders_of(call.pid, locked.get(call.pid, ()) if call.kind == "sleep" else (), holders),
                )
                for call in calls
            ),
            {pid: rows for pid, inodes in held.items() if (rows := _rows(inodes, sockets))},
            len(holders.hidden),
            whole,
            late,
            sockets.note,
        )

    def _blocked(
        self, pids: Collection[int], *, every_thread: bool
    ) -> tuple[list[BlockedCall], tuple[int, ...], tuple[int, ...]]:
        """The threads in order, the pids of which these are all, and those that did not answer. Who is gone is left out."""
        threads: dict[int, tuple[int, ...]] = {pid: (self._first_thread(pid),) for pid in pids}
        listed = self._lists.known({pid: partial(thread_ids, pid) for pid in pids}) if every_thread else {}
        threads |= listed
        asked = [(pid, tid) for pid, tids in threads.items() for tid in tids]
        answers = self._calls.ask({(pid, tid): partial(blocked_call, pid, tid) for pid, tid in asked})
        late = tuple(dict.fromkeys(pid for pid, tid in asked if (pid, tid) not in answers))
        told = (answers.get(thread) for thread in asked)
        calls = [call for call in told if isinstance(call, BlockedCall)]
        return calls, tuple(pid for pid in pids if listed.get(pid) and pid not in late and len(listed[pid]) < MAX_THREADS), late

    def _first_thread(self, pid: int) -> int:
        """A living one, if the first has ended."""
        stat = self._table.stats.get(pid)
        return pid if stat is None or stat.thread is None else stat.thread

    def _found(self, calls: Iterable[BlockedCall]) -> dict[Thread, tuple[Descriptor, ...]]:
        with_files = {(call.pid, call.tid): partial(descriptors, call) for call in calls if call.files}
        return self._objects.known(with_files)

    def _locked_files(self, calls: Iterable[BlockedCall], locks: LockTable) -> Mapping[int, tuple[OpenLocked, ...]]:
        """By pid, of the processes of which a thread sleeps."""
        pids = {call.pid for call in calls if call.kind == "sleep"} if locks.held else set()
        return self._locked.known({pid: partial(open_locked, self._table, pid, locks) for pid in pids})

    def _sockets_of(self, pids: Collection[int]) -> dict[int, frozenset[int]]:
        answers = self._files.known({pid: partial(self._table.open_files, pid) for pid in pids})
        return {pid: socket_inodes(files) or frozenset() for pid, files in answers.items()}


def read_locks() -> LockTable:
    """The locks of this machine; none where it does not tell."""
    return parse_locks(read_text("/proc/locks"))


def _wanted(wanted: Wanted, locked: Mapping[int, tuple[OpenLocked, ...]]) -> Wanted:
    names = {file.path.rpartition("/")[2] for files in locked.values() for file in files}
    return Wanted(wanted.links, wanted.names | names)


def _rows(inodes: Iterable[int], sockets: Sockets) -> tuple[TcpSocket, ...]:
    return tuple(sockets.tcp_by_inode[inode][1] for inode in sorted(inodes) if inode in sockets.tcp_by_inode)
