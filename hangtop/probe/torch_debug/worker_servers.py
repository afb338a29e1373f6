"""Where the debug servers of a run listen.

Each rank has one, on a port of its own for every address (`_WorkerServer("::", 0)`); the threads of its pool have a name that
only they have (`pt_workerserver`, PyTorch's WorkerServer.cpp). Rank 0 starts a child with pages about all of them, the front end,
which knows the addresses of all. Nothing is sent to a port before these facts tell whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from hangtop.records.process import Process
from hangtop.system.network.connections import LISTEN, is_on_our_network, read_connections, socket_inodes
from hangtop.system.processes.table import ProcessTable

POOL = "pt_workerserver"
EVERY_ADDRESS = "::"
LOOPBACK = "127.0.0.1"
MOST_RANKS = 4_096
LIMIT_S = 3.0
"""All that one server is asked takes so long at most; a dump of stacks takes 5 ms, one of 2,000 collectives 50 ms."""
_ADDRESS = re.compile(rb"debug_server/rank(\d{1,6}): b'http://([A-Za-z0-9._-]{1,253}):(\d{1,5})'")


class Address(Struct, frozen=True):
    """Where a server listens. `owner`: its user, where it is on this machine."""

    host: str
    port: int
    owner: int | None = None

    @property
    def text(self) -> str:
        return f"{self.host}:{self.port}"


class LocalServers(Struct, frozen=True):
    """The ports of this machine that may be servers of the run: of each rank, and of children of these the front end."""

    ranks: Mapping[int, tuple[Address, ...]] = {}
    front_ends: tuple[Address, ...] = ()


def local_servers(table: ProcessTable, members: Iterable[Process], not_these: frozenset[int]) -> LocalServers:
    """Those of the ranks among these members. The table must be fresh. `not_these`: ports that are known to be something else."""
    stats = table.stats
    ranks = {
        member.pid: member
        for member in members
        if member.rank is not None and member.role == "rank" and member.pid in stats and _has_pool(member.pid)
    }
    found: dict[int, tuple[Address, ...]] = {}
    held: dict[int, frozenset[int]] = {pid: _ports(table, pid) - not_these for pid in ranks}
    for pid, member in ranks.items():
        if member.rank is not None and held[pid]:
            found[member.rank] = tuple(Address(LOOPBACK, port, member.uid) for port in sorted(held[pid]))
    children = {stat.pid: stat.ppid for stat in stats.values() if stat.ppid in ranks}
    fronts = [
        Address(LOOPBACK, port, ranks[parent].uid)
        for child, parent in children.items()
        for port in sorted(_ports(table, child) - held[parent] - not_these)  # a fork inherits the sockets of its parent
    ]
    return LocalServers(found, tuple(fronts))


def _has_pool(pid: int) -> bool:
    for name in Path(f"/proc/{pid}/task").glob("*/comm"):
        with suppress(OSError):  # the thread has ended
            if name.read_text().strip() == POOL:
                return True
    return False


def _ports(table: ProcessTable, pid: int) -> frozenset[int]:
    """The ports at which it listens on every address."""
    try:
        held = socket_inodes(table.open_files(pid)) or frozenset()
        if not held or not is_on_our_network(pid):
            return frozenset()
        rows = read_connections(pid)
    except OSError:  # gone, or not ours to see
        return frozenset()
    return frozenset(
        row.local_port for row in rows if row.state == LISTEN and row.inode in held and row.local_address == EVERY_ADDRESS
    )


def addresses(page: bytes) -> dict[int, Address]:
    """The servers of all ranks, as the page `/tcpstore` of the front end tells them."""
    told = ((int(rank), host.decode(), int(port)) for rank, host, port in _ADDRESS.findall(page))
    return {rank: Address(host, port) for rank, host, port in told if rank < MOST_RANKS and 0 < port < 65_536}
