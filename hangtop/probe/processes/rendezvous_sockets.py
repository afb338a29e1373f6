"""Which ranks have joined the rendezvous, by the run's own sockets to MASTER_PORT. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from hangtop.records.process import Rendezvous
from hangtop.system.network.connections import ESTABLISHED, LISTEN, TcpConnection, listeners

Held = frozenset[int] | None
"""Inodes of a process's sockets; `None` when they may not be seen."""


def rendezvous_of(
    address: str,
    port: int,
    world: int | None,
    connections: Iterable[TcpConnection],
    ranks: Mapping[int, Held],
    others: Collection[Held] = (),
) -> Rendezvous:
    """`ranks`: the sockets of each rank; `others`: those of the run's other processes, since torchrun itself may listen. Only
    sockets that a process of the run holds count: another job may use the same port number."""
    connections = list(connections)
    seen = {rank: held for rank, held in ranks.items() if held is not None}
    own = frozenset[int]().union(*seen.values(), *(held for held in others if held is not None))
    hidden = None in (*ranks.values(), *others)
    at_port = [each for each in connections if each.state == LISTEN and each.local_port == port]
    open_now = [each for each in connections if each.state == ESTABLISHED]
    accepted = [each for each in open_now if each.local_port == port and (each.inode in own or _waits(each, at_port, own))]
    away = [each for each in open_now if each.remote_port == port and each.inode in own]
    listens = any(each.inode in own for each in at_port)
    unknown = hidden and bool(at_port) and not listens
    here = {(each.local_address, each.local_port) for each in open_now}
    ends = {each.inode for each in away}
    return Rendezvous(
        address=address,
        port=port,
        world=world,
        listening=None if unknown else listens,
        established=None if unknown else len(accepted) if listens else len(away),
        from_elsewhere=sum((each.remote_address, each.remote_port) not in here for each in accepted) if listens else None,
        another_listens=bool(listeners(at_port, (address,), port)) and not listens and not hidden,
        joined=tuple(sorted(rank for rank, held in seen.items() if not ends.isdisjoint(held))),
        missing=tuple(sorted(rank for rank, held in seen.items() if ends.isdisjoint(held))),
    )


def _waits(connection: TcpConnection, at_port: Sequence[TcpConnection], own: frozenset[int]) -> bool:
    """Whether it waits to be accepted by a listener of the run: until then no process holds it."""
    heard = listeners(at_port, (connection.local_address,), connection.local_port)
    return connection.inode == 0 and bool(heard) and all(each.inode in own for each in heard)
