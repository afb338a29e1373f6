"""The TCP connections of a network namespace, as the kernel lists them (/proc/PID/net/tcp and tcp6, proc_net_tcp(5))."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from msgspec import Struct

from hangtop.system.processes.table import OpenFile, ProcessTable

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


def resolve(host: str, port: int) -> frozenset[str]:
    """The addresses behind a name. May wait for a name server. Raises `OSError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return frozenset(str(where[0]).partition("%")[0] for *_, where in found)


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
    """Whether it has our network namespace (namespaces(7)): in another one, 127.0.0.1 is another machine. False if not
    readable."""
    if sys.platform != "linux":
        return True
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino
    except OSError:  # gone meanwhile, or of another user
        return False
