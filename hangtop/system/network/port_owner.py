"""Which process listens at a port of this machine, by the inode of the socket (proc_net_tcp(5))."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Literal

from msgspec import Struct

from hangtop.system.guard import Guard
from hangtop.system.network.connections import listeners, read_connections, resolve, socket_inodes
from hangtop.system.processes.table import Identity, OpenFile, ProcessTable

Owner = Literal["the run", "another", "nobody", "hidden"]


class Listener(Struct, frozen=True):
    """The listener of a port. `pid` and `uid`: of another job, as far as known. `hidden`: a process of the run may not be read,
    so it may be that one."""

    owner: Owner
    pid: int | None = None
    uid: int | None = None


class PortOwners:
    """Tells which process listens. Reads the run's processes first; others are searched once for each socket."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[int, tuple[OpenFile, ...]] = Guard()
        self._others: dict[int, int | None] = {}

    def of(self, address: tuple[str, int], members: Collection[Identity]) -> Listener:
        """The process that accepts a connection from here to this address. `members`: of the run. The table must be fresh."""
        try:
            found = listeners(read_connections("self"), resolve(*address), address[1])
        except OSError:  # no /proc/net on this system, or no such name
            return Listener("hidden")
        if not found:
            return Listener("nobody")
        inodes = {each.inode for each in found}
        stats = self._table.stats
        alive = [member.pid for member in members if member.pid in stats and stats[member.pid].identity == member]
        held = self._ask(alive)
        if any(not inodes.isdisjoint(sockets) for sockets in held.values() if sockets is not None):
            return Listener("the run")
        if any(held.get(pid) is None for pid in alive):
            return Listener("hidden", uid=found[0].uid)
        return Listener("another", self._holder(found[0].inode, found[0].uid), found[0].uid)

    def _holder(self, inode: int, uid: int) -> int | None:
        """The pid of another job's process with this socket; `None` if it cannot be read."""
        if inode not in self._others:
            suspects = [stat.pid for stat in self._table.stats.values() if not stat.kernel and self._table.owner(stat.pid) == uid]
            held = self._ask(suspects)
            self._others = {inode: next((pid for pid, sockets in held.items() if sockets and inode in sockets), None)}
        return self._others[inode]

    def _ask(self, pids: Iterable[int]) -> dict[int, frozenset[int] | None]:
        answers = self._guard.ask({pid: partial(self._table.open_files, pid) for pid in pids})
        return {pid: socket_inodes(files) for pid, files in answers.items()}
