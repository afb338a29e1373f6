"""A loss that jumps: several times its usual value from one step to the next.

Only a loss that is always above zero and calm is judged, as the cross-entropy of language modelling is. A policy loss crosses
zero, and a reward or a KL may multiply in one step of a healthy run: those are not judged.
"""

from __future__ import annotations

from collections import deque
from statistics import median

from msgspec import Struct

WINDOW, LEAST = 32, 8
FACTOR = 3.0
"""A jump is at least this many times the median of the window. Published spikes of pretraining reach 2 to 10 times (PaLM
§5.1)."""
RECORD = 2.5
"""And at least this many times the largest loss in the window: a loss that is noisy by nature, as with small batches, does not
jump."""
SMALL = 0.1
"""A loss that is nearly zero multiplies easily."""


class LossSpike(Struct, frozen=True):
    """A loss that left its `usual` value (the median of the window) at `step`, which is `None` where the line does not tell
    it."""

    step: float | None
    usual: float
    loss: float

    @property
    def text(self) -> str:
        where = "" if self.step is None else f"step {self.step:,.0f}: "
        return f"{where}loss {self.loss:.4g}, {self.loss / self.usual:.1f} times the usual {self.usual:.4g}"


class LossWatch:
    """The losses of one run, step by step. A jump is reported once, and its losses do not enter the window."""

    def __init__(self) -> None:
        self._window: deque[float] = deque(maxlen=WINDOW)
        self._high: deque[float] = deque(maxlen=LEAST)

    def saw(self, step: float | None, loss: float) -> LossSpike | None:
        """Takes in the next loss. Returns the jump if one begins here."""
        if len(self._window) < LEAST or min(self._window) < SMALL:
            self._window.append(loss)
            return None
        if loss <= RECORD * max(self._window) or loss <= FACTOR * (usual := median(self._window)):
            self._window.append(loss)
            self._high.clear()
            return None
        self._high.append(loss)
        if len(self._high) == LEAST:  # it stays that high: this is its new usual value
            self._window, self._high = deque(self._high, maxlen=WINDOW), deque(maxlen=LEAST)
        return LossSpike(step, usual, loss) if len(self._high) == 1 else None
