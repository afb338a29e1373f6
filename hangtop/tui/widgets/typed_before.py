"""What was typed into a line before: up and down go through it, and come back to what had been begun."""

from __future__ import annotations

from typing import Generic, TypeVar

Typed = TypeVar("Typed")


class TypedBefore(Generic[Typed]):
    """`entries`: the newest last; whoever owns the list may add to it at any time."""

    def __init__(self, entries: list[Typed]) -> None:
        self.entries = entries
        self._place: int | None = None
        self._begun: Typed | None = None

    def start(self) -> None:
        """The line holds something new."""
        self._place = None

    def go(self, by: int, now: Typed) -> Typed:
        """What to show instead of `now`: an earlier one (-1), a later one (1), behind the newest what had been begun."""
        if self._place is None:
            self._begun = now
        end = len(self.entries)
        place = max(0, min((end if self._place is None else self._place) + by, end))
        self._place = None if place == end else place
        begun = now if self._begun is None else self._begun
        return begun if self._place is None else self.entries[place]
