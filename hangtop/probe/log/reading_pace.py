"""How often the log source tells what is new: soon after a pause, seldom while it costs much."""

from __future__ import annotations

GAP_S = 0.12
"""Readings do not follow each other any faster: the screen paints four times a second at most."""
SHARE = 0.02
"""The part of a processor that readings may take in the long run, without the new bytes: these are read once in any case."""
MOST_GAP_S = 2.0
"""The longest wait for the next reading, however expensive the last one was."""
SAVED_S = 0.3
"""Processor time that a pause may save up. A step of 1,024 ranks costs about a tenth of it (`tests.bench ranks`)."""


class ReadingPace:
    """Processor time is earned while time passes, and spent by readings (a token bucket). All times in seconds.

    After a pause several readings may follow closely, so that the whole of a step of many ranks is told at once; in an endless
    stream of lines the gap between two readings grows with what one costs."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._saved_s = SAVED_S
        self._next_at = 0.0

    def allows(self, now: float) -> bool:
        """Whether a reading may be made now."""
        self._earn(now)
        return now >= self._next_at and self._saved_s > 0

    def spend(self, now: float, cost_s: float) -> None:
        """A reading was made, for so much processor time."""
        self._earn(now)
        self._saved_s = max(self._saved_s - cost_s, -SHARE * MOST_GAP_S)
        self._next_at = now + GAP_S

    def _earn(self, now: float) -> None:
        """A clock that was set back, or stood still, earns nothing."""
        if self._at is not None:
            self._saved_s = min(SAVED_S, self._saved_s + SHARE * max(0.0, now - self._at))
            self._next_at = min(self._next_at, now + GAP_S)
        self._at = now
