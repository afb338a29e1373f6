"""A bounded history that reaches back to the beginning: even samples of all that came, and the newest ones in full."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")

EVEN, NEWEST = 64, 24


class WholeHistory(Generic[Item]):
    """Keeps items that lie at least a gap apart, wider each time that `EVEN` of them are there, and the last `NEWEST`."""

    def __init__(self) -> None:
        self._even: list[tuple[int, Item]] = []
        self._newest: deque[tuple[int, Item]] = deque(maxlen=NEWEST)
        self._gap = 0

    def add(self, place: int, item: Item) -> None:
        """`place`: where it stands, ascending: distances are measured by it."""
        self._newest.append((place, item))
        if len(self._even) == EVEN:
            self._gap = max(2 * self._gap, (place - self._even[0][0]) // (EVEN // 2))
            known, self._even = self._even, []
            for older in known:
                self._add_even(*older)
        self._add_even(place, item)

    def _add_even(self, place: int, item: Item) -> None:
        if not self._even or place - self._even[-1][0] >= self._gap:
            self._even.append((place, item))

    def items(self) -> tuple[Item, ...]:
        """Oldest first."""
        first = self._newest[0][0] if self._newest else 0
        return (*(item for place, item in self._even if place < first), *(item for _, item in self._newest))
