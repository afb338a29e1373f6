"""Silences that came before: what a line is followed by each time, or often, comes again."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct, field

PAUSES, LIKE_BEFORE = 3, 2.0
"""A pause comes again that came so often, or each time; and may last longer than before by this factor."""
KEPT = 1_024


class _Followed(Struct):
    """`longest`: the longest silences after lines of one form; `count`: how many there were."""

    count: int = 0
    longest: list[float] = field(default_factory=list)

    @property
    def expected_s(self) -> float:
        """How long a silence is no longer than usual. What was that long only once or twice among many is not usual."""
        usual = self.count == len(self.longest) or len(self.longest) == PAUSES
        return LIKE_BEFORE * self.longest[-1] if usual and self.longest else 0.0


class KnownPauses:
    """By the form of a line: the silences that followed it, up to the next line that told anything."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Followed] = {}
        self._last: tuple[Hashable, float | None] | None = None

    def follow(self, form: Hashable, at: float | None) -> None:
        """A line of this form told anything at this unix time."""
        before, then = self._last or (None, None)
        if before is not None and then is not None and at is not None and at >= then:
            followed = self._known.pop(before, _Followed())
            followed.count += 1
            followed.longest = sorted((*followed.longest, at - then), reverse=True)[:PAUSES]
            self._known[before] = followed
            if len(self._known) > KEPT:
                del self._known[next(iter(self._known))]
        self._last = (form, at)

    def until(self) -> float | None:
        """Up to when (unix time) silence is usual after the last line; `None` where it was never followed by one."""
        form, at = self._last or (None, None)
        known = self._known.get(form)
        return None if known is None or at is None else at + known.expected_s
