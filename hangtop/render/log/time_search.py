"""The first line of a log file from a time on, by halving the file: each answer of the probe is one page. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.log import LogLine
from hangtop.render.log.log_merge import Place, place_of

NEAR_BYTES = 16 << 10
"""When the two ends are so close, the lines between them are read one after the other."""


class TimeSearch(Struct, frozen=True):
    """Lines before byte `low` of file `file` are older than `at`; the line that is looked for begins at `high` or before.
    `found`: where it is; `over`: whether it is looked for no more."""

    at: float
    file: int
    low: int
    high: int
    found: Place | None = None
    over: bool = False

    @property
    def middle(self) -> int:
        """Where to read next."""
        return self.low if self.high - self.low <= NEAR_BYTES else (self.low + self.high) // 2

    def after(self, lines: Sequence[LogLine], *, at_end: bool) -> TimeSearch:
        """What is known once the lines from `middle` on were read; of those without a time nothing."""
        timed = [line for line in lines if line.at is not None and line.offset >= 0]
        later = next((line for line in timed if (line.at or 0.0) >= self.at), None)
        if self.middle == self.low:
            if later is not None or at_end or not lines or lines[-1].offset >= self.high:
                last = lines[-1] if lines else None
                fallback = self.found or (place_of(last) if last is not None else None)
                return replace(self, found=fallback if later is None else place_of(later), over=True)
            return replace(self, low=lines[-1].offset + 1)
        if not timed:  # a stretch without times: it is looked through from its start
            return replace(self, high=self.middle)
        if later is timed[0]:
            return replace(self, high=self.middle, found=place_of(later))
        if later is not None:
            return replace(self, found=place_of(later), over=True)
        return replace(self, low=timed[-1].offset)
