"""The TCP connections of a network namespace, as the kernel lists them (/proc/PID/net/tcp and tcp6, proc_net_tcp(5)), and which
process listens at a port, by the inode of the socket."""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Literal

from msgspec import Struct

from hangtop.system.guard import Guard
from hangtop.system.processes.proc_files import namespace
from hangtop.system.processes.table import Identity, OpenFile, ProcessTable

ESTABLISHED, LISTEN = "01", "0A"
ANYWHERE = frozenset(("0.0.0.0", "::"))
"""Addresses of a listener for every address of its machine."""


class TcpConnection(Struct, frozen=True):
    """One line: both ends, state as hex, the user id of the socket, and the inode in `/proc/PID/fd`.

    An IPv4 address inside of IPv6 (`::ffff:10.0.0.1`) stands as IPv4."""

    local_address: str
    local_port: int
    remote_address: str
    remote_port: int
    state: str
    uid: int
    inode: int


def parse_connections(text: str) -> list[TcpConnection]:
    """The lines of `/proc/net/tcp` or `tcp6`, without the header."""
    rows = (line.split() for line in text.splitlines()[1:])
    return [TcpConnection(*_end(row[1]), *_end(row[2]), row[3], int(row[7]), int(row[9])) for row in rows if len(row) > 9]


def read_connections(pid: int | str) -> list[TcpConnection]:
    """All TCP connections of this process's network namespace; `self` is our own. Raises `OSError` when it is gone."""
    found = parse_connections(Path(f"/proc/{pid}/net/tcp").read_text())
    with suppress(FileNotFoundError):  # a kernel without IPv6
        found += parse_connections(Path(f"/proc/{pid}/net/tcp6").read_text())
    return found


def listeners(connections: Iterable[TcpConnection], addresses: Collection[str], port: int) -> list[TcpConnection]:
    """The sockets that accept a connection to one of these addresses; one bound to the exact address comes before one for all."""
    there = [each for each in connections if each.state == LISTEN and each.local_port == port]
    exact = [each for each in there if each.local_address in addresses]
    return exact or [each for each in there if each.local_address in ANYWHERE]


def socket_inodes(files: tuple[OpenFile, ...] | OSError | None) -> frozenset[int] | None:
    """The inodes of the sockets among these files; `None` when the files may not be seen."""
    if not isinstance(files, tuple):
        return None
    return frozenset(int(file.target[8:-1]) for file in files if file.target.startswith("socket:["))


def listening_ports(table: ProcessTable, pids: Iterable[int]) -> frozenset[int]:
    """The ports at which these processes listen, as far as we may read them."""
    found: set[int] = set()
    for pid in pids:
        with suppress(OSError):  # gone, or not ours to see
            held = socket_inodes(table.open_files(pid)) or frozenset()
            found |= {each.local_port for each in read_connections(pid) if each.state == LISTEN and each.inode in held}
    return frozenset(found)


def _end(text: str) -> tuple[str, int]:
    """`0100007F:1F90` is 127.0.0.1:8080: words of 32 bits in the order of the machine."""
    words, _, port = text.rpartition(":")
    raw = b"".join(struct.pack("=I", int(words[start : start + 8], 16)) for start in range(0, len(words), 8))
    if len(raw) == 4:
        return str(IPv4Address(raw)), int(port, 16)
    address = IPv6Address(raw)
    return str(address.ipv4_mapped or address), int(port, 16)


def is_on_our_network(pid: int) -> bool:
    """Whether it has our network namespace: in another one, 127.0.0.1 is another machine. False if not readable."""
    return sys.platform != "linux" or ((own := namespace("self", "net")) is not None and own == namespace(pid, "net"))


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
        """The process that accepts a connection from here to this address. `members`: of the run. The table must be fresh. May
        wait for a name server."""
        try:
            named = {str(where[0]).partition("%")[0] for *_, where in socket.getaddrinfo(*address, type=socket.SOCK_STREAM)}
            found = listeners(read_connections("self"), named, address[1])
        except OSError:  # no /proc/net on this system, or no such name
            return Listener("hidden")
        if not found:
            return Listener("nobody")
        inodes = {each.inode for each in found}
        stats = self._table.stats
        alive = [member.pid for member in members if member.pid in stats and stats[member.pid].identity == member]
        held = self._sockets(alive)
        if any(not inodes.isdisjoint(sockets) for sockets in held.values() if sockets is not None):
            return Listener("the run")
        if any(held.get(pid) is None for pid in alive):
            return Listener("hidden", uid=found[0].uid)
        return Listener("another", self._holder(found[0].inode, found[0].uid), found[0].uid)

    def _holder(self, inode: int, uid: int) -> int | None:
        """The pid of another job's process with this socket; `None` if it cannot be read."""
        if inode not in self._others:
            suspects = [stat.pid for stat in self._table.stats.values() if not stat.kernel and self._table.owner(stat.pid) == uid]
            held = self._sockets(suspects)
            self._others = {inode: next((pid for pid, sockets in held.items() if sockets and inode in sockets), None)}
        return self._others[inode]

    def _sockets(self, pids: Iterable[int]) -> dict[int, frozenset[int] | None]:
        answers = self._guard.ask({pid: partial(self._table.open_files, pid) for pid in pids})
        return {pid: socket_inodes(files) for pid, files in answers.items()}
