"""The TCP and unix sockets of this machine, with their other ends and counters: the records of sock_diag(7)."""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

from msgspec import Struct

from hangtop.records.waiting import TcpSocket
from hangtop.system.network.connections import TcpConnection, read_connections
from hangtop.system.processes.proc_files import namespace
from hangtop.system.waits.sock_diag import attributes, dump

AF_UNIX, AF_INET, AF_INET6, TCP = 1, 2, 10, 6
MAPPED = bytes(10) + b"\xff\xff"
"""`::ffff:0:0/96`."""
EVERY_STATE = 0xFFFF_FFFF
STATES = ("unknown", "established", "syn-sent", "syn-received", "fin-wait-1", "fin-wait-2", "time-wait", "closed", "close-wait",
          "last-ack", "listen", "closing", "new")  # fmt: skip
"""include/net/tcp_states.h, from 0; unix sockets use established, listen and closed of them."""
INET_REQUEST = struct.Struct("=BBBxI48x")
"""struct inet_diag_req_v2: family, protocol, wanted extensions, states; any address."""
INET_MESSAGE = struct.Struct("=BBBB HH16s16s I8x IIIII")
"""struct inet_diag_msg: family, state, timer, retransmits; ports, addresses; interface; expires, two queues, uid, inode."""
INET_DIAG_INFO = 2
TCP_INFO = struct.Struct("=xxBBxxxx 9I I4xII 11I 16x QQ 8x I 4x II 8x 8x QQ")
"""The beginning of struct tcp_info (linux/tcp.h), as of Linux 4.10."""
UNIX_REQUEST = struct.Struct("=BBxxIIIQ")
"""struct unix_diag_req: family, protocol, states, inode, what to show, cookie."""
UNIX_MESSAGE = struct.Struct("=BBBxI8x")
"""struct unix_diag_msg: family, type, state, inode, cookie."""
UNIX_SHOW = 0x01 | 0x04 | 0x08 | 0x10 | 0x40
"""UDIAG_SHOW_NAME, _PEER, _ICONS, _RQLEN, _UID."""
UNIX_NAME, UNIX_PEER, UNIX_ICONS, UNIX_QUEUES, UNIX_UID = 0, 2, 3, 4, 7


class UnixSocket(Struct, frozen=True):
    """`peer`: inode of the other end; 0 for one that waits to be accepted, `None` without any. `waiting`: of a listener, the
    inodes of the clients that it has not accepted yet. `name`: `@name` for an abstract one. `uid`: told since Linux 5.3.
    `unread_bytes`: received, not taken by the program; of datagrams, those of the next one."""

    inode: int
    state: str
    peer: int | None = None
    name: str = ""
    waiting: tuple[int, ...] = ()
    uid: int | None = None
    unread_bytes: int | None = None


class Sockets(Struct, frozen=True, dict=True):
    """`tcp`: by network namespace. `note`: what could not be read."""

    tcp: dict[str, tuple[TcpSocket, ...]] = {}
    unix: tuple[UnixSocket, ...] = ()
    note: str | None = None

    @cached_property
    def tcp_by_inode(self) -> dict[int, tuple[str, TcpSocket]]:
        """Each TCP socket that a process holds, with its namespace."""
        return {row.inode: (space, row) for space, rows in self.tcp.items() for row in rows if row.inode}

    @cached_property
    def tcp_by_ends(self) -> dict[tuple[str, str, str], TcpSocket]:
        """Connections by namespace, local and remote address."""
        rows = ((space, row) for space, rows in self.tcp.items() for row in rows if row.state != "listen")
        return {(space, row.local, row.remote): row for space, row in rows}

    @cached_property
    def unix_by_inode(self) -> dict[int, UnixSocket]:
        return {row.inode: row for row in self.unix}

    @cached_property
    def unix_listeners(self) -> dict[int, UnixSocket]:
        """The listener in whose queue this client waits."""
        return {client: row for row in self.unix for client in row.waiting}

    def tcp_listeners(self, space: str, address: str) -> list[TcpSocket]:
        """Those that accept connections to this address; one for exactly this address comes before those for all."""
        port = address.rpartition(":")[2]
        there = [row for row in self.tcp.get(space, ()) if row.state == "listen" and row.local.rpartition(":")[2] == port]
        return [row for row in there if row.local == address] or [
            row for row in there if row.local.startswith(("0.0.0.0:", "[::]:"))
        ]


def read_sockets(pids: Iterable[int] = ()) -> Sockets:
    """All sockets of our network namespace, and the TCP connections of those of these processes, if these are others."""
    own, notes = namespace("self", "net") or "", []
    found: dict[str, tuple[TcpSocket, ...]] = {}
    try:
        found[own] = read_tcp()
    except OSError as error:
        notes.append(f"TCP sockets without counters: sock_diag: {error.strerror}")
        with suppress(OSError):
            found[own] = tuple(map(_plain, read_connections("self")))
    for pid in pids:
        space = namespace(pid, "net")
        if space is not None and space not in found:
            with suppress(OSError):  # gone, or not ours to see
                found[space] = tuple(map(_plain, read_connections(pid)))
    try:
        unix = read_unix()
    except OSError as error:
        unix = ()
        notes.append(f"no peers of unix sockets: sock_diag: {error.strerror}")
    return Sockets(found, unix, "; ".join(notes) or None)


def read_tcp() -> tuple[TcpSocket, ...]:
    """The TCP sockets of our network namespace. Raises `OSError`."""
    return tuple(parse_tcp(message) for request in tcp_requests() for message in dump(request))


def tcp_requests() -> tuple[bytes, ...]:
    """What is asked for them; `parse_tcp` reads the answers."""
    return tuple(INET_REQUEST.pack(family, TCP, 1 << (INET_DIAG_INFO - 1), EVERY_STATE) for family in (AF_INET, AF_INET6))


def raw_ends(local: str, remote: str) -> tuple[bytes, ...]:
    """Ports and addresses of a connection as an answer has them, from its second word on: of a socket of its own family, and of
    one of IPv6 that speaks IPv4."""
    hosts, ports = zip(*(end.rpartition(":")[::2] for end in (local, remote)), strict=True)
    head = struct.pack("!HH", *map(int, ports))
    if any(host.startswith("[") for host in hosts):
        return (head + b"".join(socket.inet_pton(socket.AF_INET6, host.strip("[]")) for host in hosts),)
    plain = [socket.inet_pton(socket.AF_INET, host) for host in hosts]
    return (head + b"".join(host + bytes(12) for host in plain), head + b"".join(MAPPED + host for host in plain))


def read_unix() -> tuple[UnixSocket, ...]:
    """The unix sockets of our network namespace. Raises `OSError`."""
    return tuple(parse_unix(message) for message in dump(UNIX_REQUEST.pack(AF_UNIX, 0, EVERY_STATE, 0, UNIX_SHOW, 0)))


def parse_tcp(message: bytes) -> TcpSocket:
    """One answer of inet_diag."""
    family, state, _, _, sport, dport, source, target, _, _, unread, unacked, uid, inode = INET_MESSAGE.unpack_from(message)
    known = STATES[state] if state < len(STATES) else STATES[0]
    told = attributes(message, INET_MESSAGE.size).get(INET_DIAG_INFO, b"")
    local, remote = _end(family, source, sport), _end(family, target, dport)
    if known == "listen" or len(told) < TCP_INFO.size:
        return TcpSocket(inode, local, remote, known, uid, unread, unacked)
    retransmits, probes, *words = TCP_INFO.unpack_from(told)
    acked, received, unsent, segments_in, segments_out, window, buffer = words[-7:]
    sent_ms, received_ms, ack_ms = words[9:12]
    again = words[22]
    return TcpSocket(
        *(inode, local, remote, known, uid, unread, unacked),
        *(
            unsent,
            acked,
            received,
            sent_ms,
            received_ms,
            ack_ms,
            retransmits,
            probes,
            window,
            buffer,
            segments_in,
            segments_out,
            again,
        ),
    )


def parse_unix(message: bytes) -> UnixSocket:
    """One answer of unix_diag."""
    _, _, state, inode = UNIX_MESSAGE.unpack_from(message)
    told = attributes(message, UNIX_MESSAGE.size)
    name = told.get(UNIX_NAME, b"")
    text = name.rstrip(b"\0") if not name.startswith(b"\0") else b"@" + name[1:]
    waiting = told.get(UNIX_ICONS, b"")
    return UnixSocket(
        inode,
        STATES[state] if state < len(STATES) else STATES[0],
        int.from_bytes(told[UNIX_PEER], sys.byteorder) if UNIX_PEER in told else None,
        text.decode("utf-8", "surrogateescape"),
        struct.unpack(f"={len(waiting) // 4}I", waiting),
        int.from_bytes(told[UNIX_UID], sys.byteorder) if UNIX_UID in told else None,
        int.from_bytes(told[UNIX_QUEUES][:4], sys.byteorder) if UNIX_QUEUES in told else None,
    )


def _plain(row: TcpConnection) -> TcpSocket:
    """A row of /proc/net/tcp, which has no counters."""
    ends = _joined(row.local_address, row.local_port), _joined(row.remote_address, row.remote_port)
    state = int(row.state, 16)
    return TcpSocket(row.inode, *ends, STATES[state] if state < len(STATES) else STATES[0], row.uid)


def _end(family: int, address: bytes, port: int) -> str:
    """Ports and addresses stand in network order. An IPv4 address inside of IPv6 becomes IPv4."""
    number = port if sys.byteorder == "big" else (port & 0xFF) << 8 | port >> 8
    if family == AF_INET:
        return f"{socket.inet_ntop(socket.AF_INET, address[:4])}:{number}"
    if address.startswith(MAPPED):
        return f"{socket.inet_ntop(socket.AF_INET, address[12:])}:{number}"
    return f"[{socket.inet_ntop(socket.AF_INET6, address)}]:{number}"


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
