"""Messages that the run outlived before: one more of the same is no end by itself."""

from __future__ import annotations

from collections.abc import Mapping

from hangtop.logs.extract.line_values import said_in
from hangtop.logs.extract.steps.pace import HEALTHY_STEPS

KEPT = 256
Likeness = tuple[str, ...]


def likeness(signature: str, text: str, groups: Mapping[str, str]) -> Likeness:
    """What makes two messages the same: their words without numbers, and of a traceback the place where it was raised."""
    return (signature, said_in(text).words, groups.get("own") or groups.get("frame") or "")


class Outlived:
    """By the likeness of a message: how many step lines there were when one like it first came since the run last began."""

    def __init__(self) -> None:
        self._first: dict[tuple[int, Likeness], int] = {}

    def add(self, message: Likeness, starts: int, steps: int) -> bool:
        """One comes now. Returns whether the run had gone on well since the first one. `starts`: how often it may have begun."""
        first = self._first.pop((starts, message), steps)
        self._first[starts, message] = first
        if len(self._first) > KEPT:
            del self._first[next(iter(self._first))]
        return steps - first >= HEALTHY_STEPS
