"""Moments in which the guard itself did not look: the machine slept, the clock was set, the guard was stopped.

Silence that was measured across such a moment is none of the run's. A watch that notices one begins anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from hangtop.common.text import duration

LATE_S = 15.0
"""Between two looks a second apart, on the busiest machine."""
STEP_S = 5.0
"""So much the clock of the machine may differ from its course between two looks."""


class Lapses:
    """Compares two clocks from look to look: one that never jumps, and that of the wall."""

    def __init__(self, steady: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._steady, self._wall = steady, wall
        self._last = steady(), wall()

    def since_last(self) -> str:
        """What lies between this look and the one before, in words; empty where nothing does."""
        steady, wall = self._steady(), self._wall()
        passed_s, by_wall_s = steady - self._last[0], wall - self._last[1]
        self._last = steady, wall
        stepped_s = by_wall_s - passed_s
        if abs(stepped_s) >= STEP_S:
            way = "back" if stepped_s < 0 else "forward"
            return f"the clock went {way} by {duration(abs(stepped_s))}, or this machine slept"
        return f"nothing was looked at for {duration(passed_s)}" if passed_s >= LATE_S else ""
