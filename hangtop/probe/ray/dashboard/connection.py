"""One HTTP connection to a dashboard that is not trusted: every byte is counted, no wait outlasts its limit, and whose process
listens there is known before anything is sent. A dashboard that has died leaves its port to any other process, which
must not get the cluster's token.

Imported with the first request: `http.client` costs 5 MB, and most machines have no Ray.
"""

from __future__ import annotations

import io
import socket
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import IPv6Address, ip_address
from typing import Any

from hangtop.system.network.connections import ANYWHERE, ESTABLISHED, LISTEN, read_connections

ROOT = 0


class TooMuch(HTTPException):
    """The other end sent more than it may."""


class StrangerError(OSError):
    """Another user's process listens there."""


class Allowance:
    """Time and bytes that the answers to several requests may take together. For several threads. `until`: monotonic."""

    def __init__(self, until: float, most_bytes: int) -> None:
        self._until, self._most_bytes, self._left_bytes = until, most_bytes, most_bytes
        self._lock = threading.Lock()

    def left_s(self) -> float:
        """Raises `TimeoutError` when the time is over."""
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s

    def take(self, count: int) -> None:
        """Raises `TooMuch` when that is more than is left."""
        with self._lock:
            self._left_bytes -= count
            if self._left_bytes < 0:
                raise TooMuch(f"more than {self._most_bytes >> 20} MiB came at once")


class DashboardConnection(HTTPConnection):
    """Kept alive for further requests. `owner`: user id whose process must listen there; `None`: any."""

    def __init__(self, host: str, port: int, owner: int | None, ours: int) -> None:
        super().__init__(host, port)
        self._owner, self._ours = owner, ours
        self.allowance: Allowance | None = None
        self.trusted = False
        """Whether a token may be sent there."""
        self.response_class = self._response  # type: ignore[assignment]

    def prepare(self, allowance: Allowance) -> None:
        """Connect if need be, before each request. Raises `OSError`: `StrangerError`, or because nothing listens."""
        self.allowance = allowance
        self.timeout = allowance.left_s()
        if self.sock is None:
            self._connect()
        self.sock.settimeout(self.timeout)

    def _connect(self) -> None:
        self.connect()
        others = strangers(self.sock, self._ours if self._owner is None else self._owner)
        self.trusted = not others
        if others and self._owner is not None:
            self.close()
            raise StrangerError(f"another user's process listens there (uid {min(others)}): it is not asked")

    def _response(self, sock: socket.socket, *args: Any, **kwargs: Any) -> HTTPResponse:
        assert self.allowance is not None
        return HTTPResponse(_Metered(sock, self.allowance), *args, **kwargs)  # type: ignore[arg-type]


class _Metered:
    """What `HTTPResponse` needs of a socket."""

    def __init__(self, sock: socket.socket, allowance: Allowance) -> None:
        self._sock, self._allowance = sock, allowance

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._sock, self._allowance))


class _Reader(io.RawIOBase):
    """Headers and interim answers count too: a server may send these for ever."""

    def __init__(self, sock: socket.socket, allowance: Allowance) -> None:
        self._sock, self._allowance = sock, allowance
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._allowance.left_s())
        count = self._raw.readinto(buffer)
        self._allowance.take(count or 0)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def strangers(sock: socket.socket, allowed: int) -> frozenset[int]:
    """User ids other than `allowed` and root whose processes listen where this connection leads; empty when it leads to another
    machine, or where the kernel's table of sockets does not tell."""
    near, far = sock.getsockname(), sock.getpeername()
    there = _plain(far[0])
    if there != _plain(near[0]) and not ip_address(there).is_loopback:
        return frozenset()
    try:
        table = read_connections("self")
    except OSError:  # not Linux: then sockets do not tell their users
        return frozenset()
    ends = [
        connection for connection in table if connection.local_port == far[1] and connection.local_address in {there, *ANYWHERE}
    ]
    listening = {connection.uid for connection in ends if connection.state == LISTEN}
    accepted = {connection.uid for connection in ends if connection.state == ESTABLISHED and connection.remote_port == near[1]}
    return frozenset(listening | accepted) - {allowed, ROOT}


def _plain(address: str) -> str:
    """Without a zone; an IPv4 address inside of IPv6 as IPv4, as in the table."""
    plain = ip_address(address.partition("%")[0])
    return str((plain.ipv4_mapped or plain) if isinstance(plain, IPv6Address) else plain)
