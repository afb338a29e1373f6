"""Who has come to the meeting point of the ranks: connections to MASTER_PORT, read from /proc/net/tcp (proc_net_tcp(5))."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from hangtop.records.process import Rendezvous

ESTABLISHED, LISTEN = "01", "0A"


class Connection(Struct, frozen=True):
    """One line of the table: ports of both ends, state as hex, and the inode by which a process holds it."""

    local_port: int
    remote_port: int
    state: str
    inode: int


def parse_connections(text: str) -> list[Connection]:
    """The lines of `/proc/net/tcp` or `tcp6`, without their head."""
    rows = (line.split() for line in text.splitlines()[1:])
    return [Connection(_port(row[1]), _port(row[2]), row[3], int(row[9])) for row in rows if len(row) > 9]


def read_connections(pid: int) -> list[Connection]:
    """All TCP connections of this process's network namespace. Raises `OSError` when it is gone."""
    found = parse_connections(Path(f"/proc/{pid}/net/tcp").read_text())
    with suppress(FileNotFoundError):  # a kernel without IPv6
        found += parse_connections(Path(f"/proc/{pid}/net/tcp6").read_text())
    return found


def meeting(
    address: str, port: int, world: int | None, connections: Iterable[Connection], sockets: Mapping[int, frozenset[int] | None]
) -> Rendezvous:
    """What these connections tell. `sockets`: inodes that each rank holds, `None` when they may not be seen."""
    connections = list(connections)
    listening = any(each.state == LISTEN and each.local_port == port for each in connections)
    here = [each for each in connections if each.state == ESTABLISHED and each.local_port == port]
    away = [each for each in connections if each.state == ESTABLISHED and each.remote_port == port]
    ends = {each.inode for each in away}
    seen = {rank: held for rank, held in sockets.items() if held is not None}
    return Rendezvous(
        address=address,
        port=port,
        world=world,
        listening=listening,
        established=len(here) if listening else len(away),
        joined=tuple(sorted(rank for rank, held in seen.items() if not ends.isdisjoint(held))),
        missing=tuple(sorted(rank for rank, held in seen.items() if ends.isdisjoint(held))),
    )


def _port(end: str) -> int:
    return int(end.rpartition(":")[2], 16)
