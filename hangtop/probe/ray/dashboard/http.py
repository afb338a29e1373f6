"""Plain HTTP to a Ray dashboard: kept-alive connections, several requests at once, never longer than the deadline.

Why not the `ray` package: importing it costs 66 MB, and its own calls wait up to 40 s for a GCS that is silent.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hangtop.probe.http.answer import Answer
from hangtop.probe.http.at_once import run_at_once
from hangtop.probe.ray.dashboard.token import AuthToken

if TYPE_CHECKING:
    from hangtop.probe.http.connection import Connection

DEADLINE_S = 1.5

TOGETHER_BYTES = 32 * 2**20
"""All answers to what is asked for at once."""


class Dashboard:
    """One dashboard, by `host:port`. For one calling thread.

    `owner`: user id of its cluster, where that is known: another user's process that listens there is not asked at all.
    """

    def __init__(
        self,
        address: str,
        find_token: Callable[[], AuthToken | None],
        deadline_s: float = DEADLINE_S,
        *,
        owner: int | None = None,
    ) -> None:
        self.address, self.owner = address, owner
        self._find_token = find_token
        self._token: AuthToken | None = None
        self._deadline_s = deadline_s
        self._free: deque[Connection] = deque()
        self._lock = threading.Lock()

    @property
    def has_token(self) -> bool:
        return self._token is not None

    def get(self, path: str, *, headers: Mapping[str, str] | None = None, cut_bytes: int | None = None) -> Answer:
        """One answer, its body cut after `cut_bytes`. `headers` are sent beside the token's."""
        return self._answers([path], headers or {}, cut_bytes)[0]

    def get_all(self, paths: Sequence[str]) -> list[Answer]:
        """The answers in the order of the paths, all within one deadline."""
        return self._answers(paths, {}, None)

    def close(self) -> None:
        with self._lock:
            while self._free:
                self._free.pop().close()

    def _answers(self, paths: Sequence[str], headers: Mapping[str, str], cut_bytes: int | None) -> list[Answer]:
        """A challenge is answered once, with the token looked for anew, since it may have been changed."""
        answers = self._fetch(paths, headers, cut_bytes)
        refused = [i for i, answer in enumerate(answers) if answer.status in (401, 403)]
        if refused:
            self._token = self._find_token()
            if self._token is not None:
                again = self._fetch([paths[i] for i in refused], headers, cut_bytes)
                for i, answer in zip(refused, again, strict=True):
                    answers[i] = answer
        return answers

    def _fetch(self, paths: Sequence[str], headers: Mapping[str, str], cut_bytes: int | None) -> list[Answer]:
        from hangtop.probe.http.connection import Allowance, Connection

        host, _, port = self.address.rpartition(":")
        allowance = Allowance(self._deadline_s, TOGETHER_BYTES)
        answers = [allowance.late] * len(paths)

        def ask(index: int) -> None:
            with self._lock:
                connection = self._free.popleft() if self._free else Connection(host, int(port), self.owner)
            try:
                answers[index] = connection.ask(paths[index], headers, cut_bytes, self._token, allowance)
            finally:
                with self._lock:
                    self._free.append(connection)

        if len(paths) == 1:
            ask(0)
        else:
            run_at_once([partial(ask, index) for index in range(len(paths))], self._deadline_s)
        return list(answers)
