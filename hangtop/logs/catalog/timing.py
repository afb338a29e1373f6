"""How trainers print the times of the parts of a step, and engines their tokens a second: the shape of `timings.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from hangtop.common.decode_toml import decode_toml
from hangtop.common.late_pattern import compiled
from hangtop.records.step_times import Part

VALUE = r"['\"]?\s?[:=]?[ \t]{0,3}\(?(?:np\.float\d\d\()?(?P<value>\d{1,15}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?)s?(?![\w.:%/])"
"""A number behind its key: `k:1.5`, `'k': 1.5`, `k=1.5s`, `k  1.5 ( 1.4)`."""
BELOW_BYTES = 4_096
"""Timers stand within so many bytes below the line of their step; further away they are those of another one."""
_OF_A_NAME = frozenset("_/-.")
_SCALES = {"s": 1.0, "ms": 1e-3}


class TimingLine(Struct, frozen=True, forbid_unknown_fields=True):
    """See the head of `timings.toml`."""

    id: str
    literal: tuple[str, ...]
    unit: Literal["s", "ms"]
    parts: Mapping[str, Part]
    example: str
    total: tuple[str, ...] = ()
    whole: bool = False
    below: str | None = None
    value: str = VALUE
    cite: tuple[str, ...] = ()

    def total_s(self, text: str) -> float | None:
        """Seconds of the whole step, if the line tells them."""
        told = (self._seconds(text, key) for key in self.total)
        return next((seconds for seconds in told if seconds), None)

    def parts_s(self, text: str) -> dict[Part, float]:
        """Seconds of each part that the line tells."""
        found: dict[Part, float] = {}
        for key, part in self.parts.items():
            if (seconds := self._seconds(text, key)) is not None:
                found[part] = found.get(part, 0.0) + seconds
        return found

    def _seconds(self, text: str, key: str) -> float | None:
        """The number behind this key, where it is no part of a longer name."""
        at = text.find(key)
        while at >= 0:
            alone = not at or not (text[at - 1].isalnum() or text[at - 1] in _OF_A_NAME)
            if alone and (told := compiled(self.value).match(text, at + len(key))):
                return float(told["value"]) * _SCALES[self.unit]
            at = text.find(key, at + 1)
        return None


class RateLine(Struct, frozen=True, forbid_unknown_fields=True):
    """A line in which an engine tells how many tokens a second it generates: the group `tokens` of `regex`."""

    id: str
    literal: tuple[str, ...]
    regex: str
    example: str
    cite: tuple[str, ...] = ()

    def tokens_s(self, text: str) -> float | None:
        told = compiled(self.regex).search(text)
        return None if told is None else float(told["tokens"])


class Timings(Struct, frozen=True, forbid_unknown_fields=True):
    """All of them."""

    schema: int
    line: tuple[TimingLine, ...]
    rate: tuple[RateLine, ...]


@cache
def timings() -> Timings:
    """Those of the package."""
    return decode_toml(Path(__file__).with_name("timings.toml").read_text("utf-8"), Timings)
