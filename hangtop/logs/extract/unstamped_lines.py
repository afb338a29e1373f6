"""When lines without a time of their own were written: after the nearest stamped line above, before the one below."""

from __future__ import annotations

from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Lines, Span
from hangtop.logs.lines.timestamps import LogClock
from hangtop.records.log import WrittenAt

MOST_ROWS = 64
MOST_BYTES = 16 << 10
"""A stamped line is looked for this far on each side. One that is further away only bounds the time."""
LAST_BYTES = 2 << 10
"""A line this near the end of what the file held when hangtop came was written last: its time is that of the file. A traceback
is about as long."""
MOST_KEPT = 4_096
FRUITLESS = 64
"""After this many searches without a stamp above, a file that has told no time yet is taken to tell none."""


class _SearchBelow(Struct):
    """An open search below a line: `to` is the file offset up to which rows were searched, `rows` how many are left, `above` the
    end of a stamped line above."""

    line_end: int
    to: int
    rows: int
    above: int | None


class UnstampedLines(Extractor):
    """The times of the lines that are compared between files, by offset. Each row is searched once, as it comes; a log that tells
    no time at all costs nothing. `history_end`: where the file ended when hangtop came."""

    def __init__(self, clock: LogClock, offset: int = 0) -> None:
        self._clock = clock
        self.history_end = offset
        self._last_stamp: float | None = None
        self._times: dict[int, WrittenAt] = {}
        self._below: dict[int, _SearchBelow] = {}
        self._far: set[int] = set()
        self._fruitless = 0

    def read(self, found: FoundLine) -> None:
        """A stamped line bounds the time of all lines before it."""
        line = found.line
        if line.stamp is not None:
            self._last_stamp = line.stamp
            if self._far:
                self._bound_far(line)
        if found.is_first:
            self._want(line, found.lines, found.span)

    def _want(self, line: Line, lines: Lines, span: Span) -> None:
        """Finds the time of this line, now or in the blocks to come."""
        at, last = line.offset, self._last_stamp
        if line.at is not None:
            self._times[at] = self._written(line)
        elif at not in self._times:
            self._times[at] = WrittenAt(None, self._clock.at(last), self._clock.written_by)
            if last is None and self._fruitless >= FRUITLESS:
                self._far.add(at)
                return
            near = self._stamped_above(lines, span)
            self._fruitless += near is None
            if near is not None:
                self._times[at] = WrittenAt(near[1].about, near[1].not_before, self._clock.written_by)
            self._below[at] = _SearchBelow(line.end, line.end, MOST_ROWS, near and near[0])
            self._look_below(at, lines, span.end)

    def begin_block(self, lines: Lines) -> None:
        for at in tuple(self._below):
            self._look_below(at, lines, -1)

    def _bound_far(self, line: Line) -> None:
        time = self._written(line)
        for at in self._far:
            if at in self._times and at < line.offset:
                self._times[at] = _bounded(self._times[at], time)
        self._far = {at for at in self._far if at > line.offset}

    def reopened(self, offset: int) -> None:
        """There is nothing below the lines read so far."""
        self._below, self._far = {}, set()
        self.history_end = max(self.history_end, offset)

    def add_facts(self, facts: FileFacts) -> FileFacts:
        """Adds the times of findings and stage marks."""
        wanted = {finding.offset for finding in facts.findings} | {mark.offset for mark in facts.marks}
        known = {at: self._times[at] for at in wanted if at in self._times}
        if len(self._times) > MOST_KEPT:
            self._times = dict(known)
            self._far &= known.keys()
        last = self.history_end - LAST_BYTES
        return replace(facts, times={at: _at_the_end(time) if at >= last else time for at, time in known.items()})

    def _stamped_above(self, lines: Lines, span: Span) -> tuple[int, WrittenAt] | None:
        """The nearest line above that tells the time: where it ends, and when it was written."""
        first: int | None = None
        for above, row in islice(lines.rows_above(span), MOST_ROWS):
            at = above.block.at(row.start)
            first = at if first is None else first
            if first - at > MOST_BYTES:
                break
            if above.stamp(row) is not None:
                return above.block.at(row.end), self._written(above.parse(row))
        return None

    def _written(self, line: Line) -> WrittenAt:
        return self._clock.written(line.stamp, line.prefix.time)

    def _look_below(self, at: int, lines: Lines, index: int) -> None:
        search = self._below[at]
        for row in lines.rows_below(index):
            end = lines.block.at(row.end)
            if end <= search.to:
                continue
            search.to, search.rows = end, search.rows - 1
            if lines.stamp(row) is not None:
                self._found_below(at, self._below.pop(at), lines.parse(row))
                return
            if search.rows <= 0 or end - search.line_end > MOST_BYTES:
                del self._below[at]
                self._far.add(at)
                return

    def _found_below(self, at: int, search: _SearchBelow, line: Line) -> None:
        """A stamped line was found below; it decides unless the one above is nearer."""
        time = self._written(line)
        known = _bounded(self._times[at], time)
        is_nearer = search.above is None or line.offset - search.line_end < at - search.above
        self._times[at] = WrittenAt(time.about if is_nearer else known.about, known.not_before, known.not_after)


def _bounded(written: WrittenAt, below: WrittenAt) -> WrittenAt:
    """Bounded by the line below. Where clocks disagree the bounds hold both times."""
    before, after = written.not_before, below.not_after
    if before is not None and after is not None and after < before:
        before, after = after, before
    return WrittenAt(written.about, before, after)


def _at_the_end(written: WrittenAt) -> WrittenAt:
    """With the time of the file, if no line tells a nearer one."""
    return written if written.about is not None else WrittenAt(written.not_after, written.not_before, written.not_after)
