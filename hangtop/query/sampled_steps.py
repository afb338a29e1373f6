"""The steps of a log at a glance: pieces of the file, evenly apart, and more of them where a pause would be.

A picture of a whole run has some hundred columns; of a log of many GB it needs no more than a few thousand lines. What must not
be missed is a pause: where two steps that were read are further apart than the steps between them explain, more is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.lines.timestamps import LogClock, date_in
from hangtop.query.partial_dates import Anchor, Lacks, clock_seconds, days_of, leap_seconds, moments_of
from hangtop.query.step_shapes import Shape, StepReader, learn, shape_key
from hangtop.query.whole_run import PAUSE_S, usual_step_s

WINDOWS, WINDOW_BYTES = 1_000, 4 << 10
ROUNDS, MOST_BYTES = 16, 24 << 20
"""In each round a gap is halved; no more is read than these bytes."""
ENOUGH = 8
"""Steps of one piece; the rest of it counts as not read."""
MOST_TRIED = 1_000
"""Lines that may be of a form not known yet."""


class SeenStep(Struct, frozen=True):
    """`at`: unix time. `byte`: where its line begins."""

    byte: int
    at: float
    step: int
    rank: int | None
    counter: str


class _Mark(Struct, frozen=True):
    """`clock_s`: unix time; seconds of the day, or of a leap year, where it `lacks` its date or its year."""

    byte: int
    clock_s: float
    lacks: Lacks
    step: int
    rank: int | None
    counter: str


def sampled_steps(path: Path, index: LiteralIndex, clock_shift_s: float | None) -> list[SeenStep]:
    """Steps that have a time, in the order of the file: all of a small file. Raises `OSError`."""
    with path.open("rb") as file:
        return _Sampler(file, StepReader(index, clock_shift_s), clock_shift_s or 0.0).steps()


class _Sampler:
    def __init__(self, file: BinaryIO, reader: StepReader, shift_s: float) -> None:
        status = os.fstat(file.fileno())
        self._file, self._reader, self._shift_s = file, reader, shift_s
        self._size, self._written_at = status.st_size, status.st_mtime
        self._near = date_in(file.read(LogClock.YEAR_WITHIN))
        self._shapes: list[tuple[Shape, re.Pattern[str]]] = []
        self._tried: set[str] = set()
        self._clock = LogClock()
        self._windows: list[tuple[int, int]] = []
        self._marks: dict[int, _Mark] = {}
        self._read = 0

    def steps(self) -> list[SeenStep]:
        """Read evenly, then where a pause may be."""
        count = min(WINDOWS, max(1, self._size // WINDOW_BYTES + 1))
        every = max(WINDOW_BYTES, self._size // count)
        for begin in range(0, self._size, every):
            self._look(begin, WINDOW_BYTES)
        self._look(max(0, self._size - WINDOW_BYTES), WINDOW_BYTES, enough=WINDOW_BYTES)
        known = self._dated()
        for _ in range(ROUNDS):
            gaps = self._gaps(known)
            if not gaps or self._read > MOST_BYTES:
                break
            for begin, end in gaps:
                middle = max(begin, (begin + end - WINDOW_BYTES) // 2)
                self._look(middle, min(WINDOW_BYTES, end - middle))
            known = self._dated()
        return known

    def _look(self, begin: int, count: int, enough: int = ENOUGH) -> None:
        """Read the lines that begin in this piece, up to so many steps."""
        self._file.seek(begin)
        data = self._file.read(count)
        rest = b"" if data.endswith(b"\n") else self._file.readline(WINDOW_BYTES)
        self._read += len(data) + len(rest)
        at = 0
        if begin:
            self._file.seek(begin - 1)
            at = 0 if self._file.read(1) == b"\n" else data.find(b"\n") + 1
        found = 0
        for line in (data[at:] + rest).splitlines(keepends=True):
            text = line.rstrip(b"\r\n").decode(errors="replace")
            if text and (mark := self._mark(begin + at, text)) is not None:
                self._marks[mark.byte] = mark
                found += 1
            at += len(line)
            if found == enough:
                break
        self._windows.append((begin, begin + at))

    def _mark(self, byte: int, line: str) -> _Mark | None:
        for shape, regex in self._shapes:
            if shape.literal in line and (found := regex.match(line)) is not None:
                return self._mark_of(shape, found, byte)
        if len(self._tried) < MOST_TRIED and (key := shape_key(line)) not in self._tried:
            self._tried.add(key)
            for shape in learn((line,), self._reader):
                self._shapes.append((shape, re.compile(shape.regex)))
                return self._mark(byte, line)
        return None

    def _mark_of(self, shape: Shape, found: re.Match[str], byte: int) -> _Mark | None:
        step, rank = (self._number(shape, name, found) for name in ("step", "rank"))
        if step is None or not shape.stamp:
            return None
        stamp = found["stamp"]
        if shape.lacks == "date":
            told_s: float | None = clock_seconds(stamp)
        elif shape.lacks == "year":
            told_s = leap_seconds(stamp)
        else:
            naive_s = None if shape.shift_s is None else self._clock.read(stamp)
            told_s = None if naive_s is None else naive_s + (shape.shift_s or 0.0)
        if told_s is None:
            return None
        return _Mark(byte, told_s, shape.lacks, int(step), None if rank is None else int(rank), shape.counter)

    def _number(self, shape: Shape, name: str, found: re.Match[str]) -> float | None:
        if (source := shape.values.get(name)) is None:
            return shape.fixed.get(name)
        return source.of(float(found[source.group].replace(",", "")))

    def _dated(self) -> list[SeenStep]:
        """The steps so far, in order. Times of day get the day, dates the year that the file tells."""
        marks = [self._marks[byte] for byte in sorted(self._marks)]
        clocks, dates = ([mark.clock_s for mark in marks if mark.lacks == lacks] for lacks in ("date", "year"))
        days = zip(days_of(clocks, self._written_at, self._shift_s), clocks, strict=True)
        times: dict[Lacks, Iterator[float]] = {
            "": iter([mark.clock_s for mark in marks if not mark.lacks]),
            "date": (day + clock for day, clock in days),
            "year": iter(moments_of(dates, Anchor(self._near, self._written_at, self._shift_s))),
        }
        return [SeenStep(mark.byte, next(times[mark.lacks]), mark.step, mark.rank, mark.counter) for mark in marks]

    def _gaps(self, known: Sequence[SeenStep]) -> list[tuple[int, int]]:
        """Pieces that were not read, between steps that are further apart than the steps between them explain."""
        if len(known) < 3:
            return []
        self._windows.sort()
        step_s = usual_step_s([(step.at, step.step) for step in known])
        unread = [(one[1], other[0]) for one, other in pairwise(self._windows) if one[1] < other[0]]
        found: list[tuple[int, int]] = []
        place = 0
        for before, after in pairwise(known):
            if after.at - before.at <= PAUSE_S + max(0, after.step - before.step) * step_s:
                continue
            while place < len(unread) and unread[place][1] <= before.byte:
                place += 1
            for begin, end in unread[place:]:
                if begin >= after.byte:
                    break
                found.append((begin, end))
        return found
