"""One HTTP connection to an end that is trusted with nothing: every byte is counted, no wait outlasts its limit, and where it
leads to is known before anything is said. Imported with the first request: `http.client` costs 5 MB, and most machines have no
Ray."""

from __future__ import annotations

import io
import socket
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

from hangtop.probe.ray.dashboard.listener import strangers


class TooMuch(HTTPException):
    """More came than one may send."""


class StrangerError(OSError):
    """Another user's process listens there."""


class Allowance:
    """What the answers to several questions may take together. Shared by threads. `until`: by the monotonic clock."""

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


class Connection(HTTPConnection):
    """Kept alive for further questions. `owner`: whose process must listen there, where that can be told; `None`: anybody's."""

    def __init__(self, host: str, port: int, owner: int | None, ours: int) -> None:
        super().__init__(host, port)
        self._owner, self._ours = owner, ours
        self.allowance: Allowance | None = None
        self.trusted = False
        """Whether a token may be sent there."""
        self.response_class = self._response  # type: ignore[assignment]

    def meet(self, allowance: Allowance) -> None:
        """To be called before each question. Raises `OSError`: `StrangerError`, or because nobody is there."""
        self.allowance = allowance
        self.timeout = allowance.left_s()
        if self.sock is None:
            self._meet_anew()
        self.sock.settimeout(self.timeout)

    def _meet_anew(self) -> None:
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
