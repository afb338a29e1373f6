"""What came back of one HTTP request."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Answer(msgspec.Struct, frozen=True):
    """`status`: the HTTP status, 0 when there was no answer; then `error` says why.

    `late`: it took longer than the deadline. `headers`: by name in lower case. `cut`: the body goes on after `cut_bytes`.
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
