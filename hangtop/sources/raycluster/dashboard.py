"""Plain HTTP to a Ray dashboard: kept-alive connections, a limit on every answer, several at once, never longer than asked.

Why not the `ray` package: importing it costs 66 MB, and its own calls wait up to 40 s for a GCS that is silent.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hangtop.sources.raycluster.token import Token

if TYPE_CHECKING:  # imported with the first request: 5 MB for the probe, with TLS and mail, and most machines have no Ray
    from http.client import HTTPConnection, HTTPResponse

DEADLINE_S = 1.5
CONNECTIONS = 4
LARGEST = 256 * 2**20
CHUNK = 1 << 20
NAME = {"User-Agent": "hangtop"}
"""Dashboards of Ray up to 2.49 fail without a name (HTTP 500: `is_browser_request` looks for it)."""


class Answer(Struct, frozen=True):
    """`status`: the HTTP status, 0 when there was no answer; then `error` says why. `late`: it took longer than the deadline.

    `headers`: by name in lower case. `cut`: there was more than was asked for at most.
    """

    status: int
    body: bytes = b""
    error: str = ""
    late: bool = False
    took_s: float = 0.0
    headers: Mapping[str, str] = {}
    cut: bool = False

    @property
    def ok(self) -> bool:
        return self.status == 200

    @property
    def in_words(self) -> str:
        """One line for a person."""
        if self.status:
            return f"HTTP {self.status}"
        return self.error


class Dashboard:
    """One dashboard, by `host:port`. Counts what it asked, so that its cost can be told. For one calling thread."""

    def __init__(self, address: str, find_token: Callable[[], Token | None], deadline_s: float = DEADLINE_S) -> None:
        self.address = address
        self.requests = 0
        self.received_bytes = 0
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._deadline_s = deadline_s
        self.find_token = find_token
        self._token: Token | None = None
        self._free: deque[HTTPConnection] = deque()
        self._lock = threading.Lock()

    @property
    def has_token(self) -> bool:
        return self._token is not None

    def get(self, path: str, *, headers: Mapping[str, str] | None = None, most_bytes: int = LARGEST) -> Answer:
        """One answer, cut after `most_bytes`. `headers` go with it beside the token's."""
        answer = self._get(path, headers, most_bytes)
        return self._get(path, headers, most_bytes) if answer.status in (401, 403) and self._renew_token() else answer

    def _get(self, path: str, headers: Mapping[str, str] | None, most_bytes: int) -> Answer:
        connection = self._take()
        try:
            return self._ask(connection, path, time.monotonic() + self._deadline_s, headers, most_bytes)
        finally:
            self._give_back(connection)

    def get_all(self, paths: Sequence[str]) -> list[Answer]:
        """The answers in the order of the paths, all within one deadline. A challenge is answered with the token, once."""
        answers = self._fetch(paths)
        refused = [i for i, answer in enumerate(answers) if answer.status in (401, 403)]
        if refused and self._renew_token():
            again = self._fetch([paths[i] for i in refused])
            for i, answer in zip(refused, again, strict=True):
                answers[i] = answer
        return answers

    def close(self) -> None:
        while self._free:
            self._free.pop().close()

    def _renew_token(self) -> bool:
        """Look for a token anew, since it may have been changed; true when there is one to try."""
        self._token = self.find_token()
        return self._token is not None

    def _fetch(self, paths: Sequence[str]) -> list[Answer]:
        until = time.monotonic() + self._deadline_s
        answers = [Answer(0, error=f"no answer within {self._deadline_s:g} s", late=True)] * len(paths)
        waiting = deque(enumerate(paths))
        if len(paths) == 1:
            self._work(waiting, answers, until)
            return answers
        threads = [threading.Thread(target=self._work, args=(waiting, answers, until), daemon=True) for _ in paths[:CONNECTIONS]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()) + 0.1)
        return list(answers)

    def _work(self, waiting: deque[tuple[int, str]], answers: list[Answer], until: float) -> None:
        connection = self._take()
        try:
            while time.monotonic() < until:
                try:
                    index, path = waiting.popleft()
                except IndexError:
                    break
                answers[index] = self._ask(connection, path, until)
        finally:
            self._give_back(connection)

    def _take(self) -> HTTPConnection:
        from http.client import HTTPConnection

        with self._lock:
            return self._free.popleft() if self._free else HTTPConnection(self._host, self._port)

    def _give_back(self, connection: HTTPConnection) -> None:
        with self._lock:
            self._free.append(connection)

    def _ask(
        self,
        connection: HTTPConnection,
        path: str,
        until: float,
        headers: Mapping[str, str] | None = None,
        most_bytes: int = LARGEST,
    ) -> Answer:
        from http.client import HTTPException

        began = time.monotonic()
        reused = connection.sock is not None
        try:
            try:
                answer = self._exchange(connection, path, until, headers, most_bytes)
            except (BrokenPipeError, ConnectionResetError):
                if not reused:  # the server hung up on a fresh connection: that is its answer
                    raise
                connection.close()
                answer = self._exchange(connection, path, until, headers, most_bytes)
        except TimeoutError:
            answer = Answer(0, error=f"no answer within {self._deadline_s:g} s", late=True)
        except ConnectionRefusedError:
            answer = Answer(0, error="connection refused")
        except (OSError, HTTPException) as error:
            answer = Answer(0, error=f"{type(error).__name__}: {error}".rstrip(": "))
        if not answer.status or answer.cut:  # what was not read would be taken for the next answer
            connection.close()
        return replace(answer, took_s=time.monotonic() - began)

    def _exchange(
        self, connection: HTTPConnection, path: str, until: float, headers: Mapping[str, str] | None, most_bytes: int
    ) -> Answer:
        connection.timeout = _left(until)
        if connection.sock is not None:
            connection.sock.settimeout(connection.timeout)
        else:
            connection.connect()
        token = self._token
        connection.request("GET", path, headers={**NAME, **(headers or {}), **(token.header() if token else {})})
        response = connection.getresponse()
        body, cut = _body(connection, response, until, most_bytes)
        with self._lock:
            self.requests += 1
            self.received_bytes += len(body)
        told = {name.lower(): value for name, value in response.getheaders()} if headers is not None else {}
        return Answer(response.status, body, headers=told, cut=cut)


def _body(connection: HTTPConnection, response: HTTPResponse, until: float, most_bytes: int) -> tuple[bytes, bool]:
    """The whole body, within the deadline even when it comes in drops; or its beginning, and that it was cut."""
    from http.client import HTTPException, IncompleteRead

    parts, size = [], 0
    while not response.isclosed():
        if connection.sock is not None:
            connection.sock.settimeout(_left(until))
        part = response.read1(CHUNK)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise HTTPException(f"an answer of more than {LARGEST >> 20} MiB")
        if size > most_bytes:
            return b"".join(parts)[:most_bytes], True
    if response.length:
        raise IncompleteRead(b"", response.length)
    response.close()  # the socket stays open: read1 does not notice the end by itself
    return b"".join(parts), False


def _left(until: float) -> float:
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s
