"""Plain HTTP to a Ray dashboard: kept-alive connections, several at once, with limits on time and bytes.

Why not the `ray` package: importing it costs 66 MB, and its own calls wait up to 40 s for a GCS that is silent.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.probe.ray.dashboard.token import AuthToken

if TYPE_CHECKING:  # imported with the first request: 5 MB for the probe, with TLS and mail, and most machines have no Ray
    from http.client import HTTPResponse

    from hangtop.probe.ray.dashboard.connection import Allowance, DashboardConnection

DEADLINE_S = 1.5
CONNECTIONS = 4
LARGEST, TOGETHER = 16 * 2**20, 32 * 2**20
"""Bytes of one answer, and of all answers at once: 10,000 actors are 6 MB. The probe lives within the run's memory limit."""
CHUNK = 1 << 20
LONGEST_ERROR = 200
"""An error may hold words of the other end."""
NAME = {"User-Agent": "hangtop"}
"""Dashboards of Ray up to 2.49 fail without a name (HTTP 500: `is_browser_request` needs it)."""


class Answer(Struct, frozen=True):
    """`status`: the HTTP status, 0 without an answer; then `error` says why. `late`: it took longer than the deadline.

    `headers`: by name in lower case. `cut`: there was more than the limit.
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
        return f"HTTP {self.status}" if self.status else self.error


class Dashboard:
    """One dashboard, by `host:port`. Counts requests and bytes. For one calling thread.

    `owner`: user id of its cluster, if known: another user's process that listens there is not asked. Without it any process is
    asked, but gets the token only if it is ours or root's.
    """

    def __init__(
        self,
        address: str,
        find_token: Callable[[], AuthToken | None],
        deadline_s: float = DEADLINE_S,
        *,
        owner: int | None = None,
    ) -> None:
        self.address = address
        self.owner = owner
        self.requests = 0
        self.received_bytes = 0
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._deadline_s = deadline_s
        self.find_token = find_token
        self._token: AuthToken | None = None
        self._free: deque[DashboardConnection] = deque()
        self._lock = threading.Lock()

    @property
    def has_token(self) -> bool:
        return self._token is not None

    def get(self, path: str, *, headers: Mapping[str, str] | None = None, most_bytes: int = LARGEST) -> Answer:
        """One answer, cut after `most_bytes`. `headers` go with it beside the token's."""
        return self.get_all([path], headers=headers, most_bytes=most_bytes)[0]

    def get_all(
        self, paths: Sequence[str], *, headers: Mapping[str, str] | None = None, most_bytes: int = LARGEST
    ) -> list[Answer]:
        """The answers in the order of the paths, all within one deadline. A challenge is answered with the token, once."""
        answers = self._fetch(paths, headers, most_bytes)
        refused = [i for i, answer in enumerate(answers) if answer.status in (401, 403)]
        if refused:
            self._token = self.find_token()  # again, since it may have changed
        if refused and self._token is not None:
            again = self._fetch([paths[i] for i in refused], headers, most_bytes)
            for i, answer in zip(refused, again, strict=True):
                answers[i] = answer
        return answers

    def close(self) -> None:
        while self._free:
            self._free.pop().close()

    def _fetch(self, paths: Sequence[str], headers: Mapping[str, str] | None, most_bytes: int) -> list[Answer]:
        from hangtop.probe.ray.dashboard.connection import Allowance

        until = time.monotonic() + self._deadline_s
        allowance = Allowance(until, TOGETHER)
        answers = [Answer(0, error=f"no answer within {self._deadline_s:g} s", late=True)] * len(paths)
        waiting = deque(enumerate(paths))

        def work() -> None:
            connection = self._take()
            try:
                while waiting:
                    index, path = waiting.popleft()
                    answers[index] = self._ask(connection, path, allowance, headers, most_bytes)
                    if answers[index].late:  # so are the others
                        break
            except IndexError:  # another thread took the last one
                return
            finally:
                self._give_back(connection)

        if len(paths) == 1:
            work()
            return answers
        threads = [threading.Thread(target=work, daemon=True) for _ in paths[:CONNECTIONS]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()) + 0.1)
        return list(answers)

    def _take(self) -> DashboardConnection:
        from hangtop.probe.ray.dashboard.connection import DashboardConnection

        with self._lock:
            return self._free.popleft() if self._free else DashboardConnection(self._host, self._port, self.owner, os.geteuid())

    def _give_back(self, connection: DashboardConnection) -> None:
        with self._lock:
            self._free.append(connection)

    def _ask(
        self,
        connection: DashboardConnection,
        path: str,
        allowance: Allowance,
        headers: Mapping[str, str] | None,
        most_bytes: int,
    ) -> Answer:
        from http.client import HTTPException

        from hangtop.probe.ray.dashboard.connection import StrangerError

        began = time.monotonic()
        reused = connection.sock is not None
        try:
            try:
                answer = self._exchange(connection, path, allowance, headers, most_bytes)
            except (BrokenPipeError, ConnectionResetError):
                if not reused:  # on a fresh connection this is its answer
                    raise
                connection.close()
                answer = self._exchange(connection, path, allowance, headers, most_bytes)
        except TimeoutError:
            answer = Answer(0, error=f"no answer within {self._deadline_s:g} s", late=True)
        except ConnectionRefusedError:
            answer = Answer(0, error="connection refused")
        except StrangerError as stranger:
            answer = Answer(0, error=str(stranger))
        except (OSError, HTTPException) as error:
            answer = Answer(0, error=clean_text(f"{type(error).__name__}: {error}").rstrip(": ")[:LONGEST_ERROR])
        if not answer.status or answer.cut:  # what was not read would be taken for the next answer
            connection.close()
        return replace(answer, took_s=time.monotonic() - began)

    def _exchange(
        self, connection: DashboardConnection, path: str, allowance: Allowance, headers: Mapping[str, str] | None, most_bytes: int
    ) -> Answer:
        connection.prepare(allowance)
        token = self._token if connection.trusted else None
        connection.request("GET", path, headers={**NAME, **(headers or {}), **(token.header() if token else {})})
        response = connection.getresponse()
        body, cut = _body(response, most_bytes)
        with self._lock:
            self.requests += 1
            self.received_bytes += len(body)
        told = {name.lower(): value for name, value in response.getheaders()} if headers is not None else {}
        return Answer(response.status, body, headers=told, cut=cut)


def _body(response: HTTPResponse, most_bytes: int) -> tuple[bytes, bool]:
    """The whole body, or its beginning and that it was cut. Raises `TimeoutError`, `HTTPException`."""
    from http.client import IncompleteRead

    from hangtop.probe.ray.dashboard.connection import TooMuch

    parts, size = [], 0
    while not response.isclosed():
        part = response.read1(CHUNK)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise TooMuch(f"an answer of more than {LARGEST >> 20} MiB")
        if size > most_bytes:
            return b"".join(parts)[:most_bytes], True
    if response.length:
        raise IncompleteRead(b"", response.length)
    response.close()  # the socket stays open: read1 does not notice the end by itself
    return b"".join(parts), False
