"""The longest silence in a file: the longest time between two neighbouring lines that tell the time."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Lines, Span
from hangtop.logs.lines.timestamps import LogClock

MOST_READ = 200
"""At most this many lines are read for one gap; if more were needed, the gap is not measured."""

EXACT, SHORT_S = 32, 5.0
"""After `EXACT` lines, silences shorter than `SHORT_S` are no longer looked for."""


_WALKS = 2
"""At most this many gaps are measured in one block."""


class SilenceWatch(Extractor):
    """Keeps the clock of a file. A long time between two lines that were parsed is a silence only if no line between them tells
    a time."""

    def __init__(self, clock: LogClock) -> None:
        self._clock = clock
        self._last: tuple[int, float] | None = None  # offset and clock time of the newest line that has one
        self._walks = 0

    def begin_block(self, lines: Lines) -> None:
        self._walks = 0

    def read(self, found: FoundLine) -> None:
        line = found.line
        if line.stamp is None:
            return
        self._clock.last_log_time = line.stamp
        before, self._last = self._last, (line.offset, line.stamp)
        known_s = self._clock.longest_silence_s or 0.0
        if before is None or line.stamp - before[1] <= known_s or self._walks >= _WALKS:
            return
        self._walks += 1
        begin = max(-1, before[0] - found.lines.block.offset)
        gap_s = longest_gap_s(found.lines, (begin, before[1]), (found.span.start, line.stamp), known_s)
        if gap_s is not None:
            self._clock.silence(gap_s)

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, longest_silence_s=self._clock.longest_silence_s)


def longest_gap_s(lines: Lines, begin: tuple[int, float], end: tuple[int, float], known_s: float) -> float | None:
    """The longest time between two neighbours among the lines from `begin` to `end` (byte index in the block, clock time).

    Spans shorter than `known_s` are skipped, and longer ones halved, so that a handful of lines are read instead of all. `None`
    if nothing longer than `known_s` is proven.
    """
    longest, read = known_s, 0
    todo = [(begin, end)]
    while todo:
        before, after = todo.pop()
        if after[1] - before[1] <= (longest if read < EXACT else max(longest, SHORT_S)):
            continue
        between, read = _timed(lines, before[0] + 1, after[0], read)
        if read > MOST_READ:
            return None
        if between is None:
            longest = after[1] - before[1]
        else:
            todo += [(before, between), (between, after)]
    return longest if longest > known_s else None


def _timed(lines: Lines, start: int, stop: int, read: int) -> tuple[tuple[int, float] | None, int]:
    """A line that begins in `[start, stop)` and tells the time, the first after the middle if there is one; and how many lines
    were read."""
    while start < stop and read <= MOST_READ:
        middle = (start + stop) // 2
        span: Span | None = lines.starting_from(middle)
        while span is not None and span.start < stop and read <= MOST_READ:
            read += 1
            stamp = lines.stamp(span)
            if stamp is not None:
                return (span.start, stamp), read
            span = lines.next(span)
        stop = middle
    return None, read
