"""One HTTP connection to a server that is trusted with nothing: every byte is counted, no wait outlasts its limit, and the
user of the process that listens is known before anything is sent.

A dashboard that has died leaves its port to whatever process takes it next: its answers say nothing of the cluster, and the token
is not for it. Imported with the first request: `http.client` costs 5 MB, with TLS and mail, and most machines have no Ray.
"""

from __future__ import annotations

import io
import os
import socket
import threading
import time
from collections.abc import Mapping
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from ipaddress import IPv6Address, ip_address
from typing import Any, Literal

from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.probe.http.answer import Answer
from hangtop.probe.ray.dashboard.token import AuthToken
from hangtop.system.network.connections import ANYWHERE, ESTABLISHED, LISTEN, TcpConnection, read_connections

MOST_BYTES = 16 * 2**20
"""The largest body that is read: 10,000 actors are 6 MB, and the probe lives in the run's memory limit."""
CHUNK_BYTES = 1 << 20
LONGEST_ERROR = 200
"""An error may quote the server."""
ROOT = 0
NAME = {"User-Agent": "hangtop"}
"""Dashboards of Ray up to 2.49 fail without a name (HTTP 500: `is_browser_request` looks for it)."""


class TooMuchError(HTTPException):
    """The server sent more than it may."""


class StrangerError(OSError):
    """Another user's process listens there."""


class Allowance:
    """Time and bytes that the answers to several requests may take together. Shared by threads."""

    def __init__(self, limit_s: float, most_bytes: int) -> None:
        self.late = Answer(0, error=f"no answer within {limit_s:g} s", late=True)
        self._until = time.monotonic() + limit_s
        self._most_bytes, self._left_bytes = most_bytes, most_bytes
        self._lock = threading.Lock()

    def left_s(self) -> float:
        """Raises `TimeoutError` when the time is over."""
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s

    def take(self, count: int) -> None:
        """Raises `TooMuchError` when that is more than is left."""
        with self._lock:
            self._left_bytes -= count
            if self._left_bytes < 0:
                raise TooMuchError(f"more than {self._most_bytes >> 20} MiB came at once")


class Connection(HTTPConnection):
    """Kept alive for further requests. `owner`: only a process of this user or root is asked. `None`: any process is, but it gets
    a token only if it is ours or root's."""

    def __init__(self, host: str, port: int, owner: int | None) -> None:
        super().__init__(host, port)
        self._owner = owner
        self._allowance = Allowance(0.0, 0)
        self._trusted = False
        """Whether a token may be sent there."""
        self.response_class = self._response  # type: ignore[assignment]

    def ask(
        self,
        path: str,
        headers: Mapping[str, str],
        cut_bytes: int | None,
        token: AuthToken | None,
        allowance: Allowance,
        *,
        method: Literal["GET", "POST"] = "GET",
    ) -> Answer:
        """What a request gives, its body cut after `cut_bytes`; without that, one of more than `MOST_BYTES` is an error. Never
        raises: what went wrong is the `error` of the answer."""
        self._allowance = allowance
        exchange = partial(self._exchange, method, path, headers, cut_bytes, token)
        began, reused = time.monotonic(), self.sock is not None
        try:
            try:
                answer = exchange()
            except (BrokenPipeError, ConnectionResetError):
                if not reused:  # the server hung up on a fresh connection: that is its answer
                    raise
                self.close()
                answer = exchange()
        except TimeoutError:
            answer = allowance.late
        except ConnectionRefusedError:
            answer = Answer(0, error="connection refused")
        except StrangerError as stranger:
            answer = Answer(0, error=str(stranger))
        except ValueError:  # a header, whose text is not for the screen, or a path with a name that the server itself gave
            answer = Answer(0, error="what is asked is no text for HTTP")
        except (OSError, HTTPException) as error:
            answer = Answer(0, error=clean_text(f"{type(error).__name__}: {error}").rstrip(": ")[:LONGEST_ERROR])
        if not answer.status or answer.cut:  # the unread rest would be taken for the next answer
            self.close()
        return replace(answer, took_s=time.monotonic() - began)

    def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], cut_bytes: int | None, token: AuthToken | None
    ) -> Answer:
        self.timeout = self._allowance.left_s()
        if self.sock is None:
            self._connect()
        self.sock.settimeout(self.timeout)
        secret = token.header() if token and self._trusted else {}
        self.request(method, path, headers={**NAME, **headers, **secret})
        response = self.getresponse()
        body, cut = _body(response, cut_bytes)
        return Answer(response.status, body, headers={k.lower(): v for k, v in response.getheaders()}, cut=cut)

    def _connect(self) -> None:
        self.connect()
        others = strangers(self.sock, os.geteuid() if self._owner is None else self._owner)
        self._trusted = not others
        if others and self._owner is not None:
            raise StrangerError(f"another user's process listens there (uid {min(others)}): it is not asked")

    def _response(self, sock: socket.socket, *args: Any, **kwargs: Any) -> HTTPResponse:
        return HTTPResponse(_MeteredSocket(sock, self._allowance), *args, **kwargs)  # type: ignore[arg-type]


class _MeteredSocket(io.RawIOBase):
    """What `HTTPResponse` needs of a socket. Headers and interim answers count too: a server may send these for ever."""

    def __init__(self, sock: socket.socket, allowance: Allowance) -> None:
        self._sock, self._allowance = sock, allowance
        self._raw = sock.makefile("rb", buffering=0)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

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


def _body(response: HTTPResponse, cut_bytes: int | None) -> tuple[bytes, bool]:
    """The body, and whether it was cut. Raises `TimeoutError`, `HTTPException`."""
    parts, size = [], 0
    while not response.isclosed() and (part := response.read1(CHUNK_BYTES)):
        parts.append(part)
        size += len(part)
        if cut_bytes is not None and size > cut_bytes:
            return b"".join(parts)[:cut_bytes], True
        if size > MOST_BYTES:
            raise TooMuchError(f"an answer of more than {MOST_BYTES >> 20} MiB")
    if response.length:
        raise IncompleteRead(b"", response.length)
    response.close()  # the socket stays open: read1 does not notice the end by itself
    return b"".join(parts), False


def strangers(sock: socket.socket, allowed: int) -> frozenset[int]:
    """User ids other than `allowed` and root whose processes listen where this connection leads; empty when it leads to another
    machine, or where the kernel's table of sockets does not tell."""
    near, far = sock.getsockname(), sock.getpeername()
    there = _plain(far[0])
    if there != _plain(near[0]) and not ip_address(there).is_loopback:
        return frozenset()
    try:
        ends = _ends(there, far[1]) or _ends(there, far[1])  # a table that changes amid the reading may lack a line
    except OSError:  # not Linux: then sockets do not tell their users
        return frozenset()
    listening = {connection.uid for connection in ends if connection.state == LISTEN}
    accepted = {connection.uid for connection in ends if connection.state == ESTABLISHED and connection.remote_port == near[1]}
    return frozenset(listening | accepted) - {allowed, ROOT}


def _ends(address: str, port: int) -> list[TcpConnection]:
    """The sockets here that have this end. Raises `OSError`."""
    own = {address, *ANYWHERE}
    return [each for each in read_connections("self") if each.local_port == port and each.local_address in own]


def _plain(address: str) -> str:
    """Without a zone; an IPv4 address inside of IPv6 as IPv4, as in the table."""
    plain = ip_address(address.partition("%")[0])
    return str((plain.ipv4_mapped or plain) if isinstance(plain, IPv6Address) else plain)
