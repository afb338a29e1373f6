"""A whole run as rows over one axis of time: the drawing of `hangtop timeline` in characters. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from hangtop.common import text
from hangtop.query.timeline_svg import COLOURS, MARKS
from hangtop.query.whole_run import BINS, RankCourse, Span, WholeRun, graver
from hangtop.render.spans import BLANK, Row, align, cut, dotted
from hangtop.render.spans import Span as Cells
from hangtop.render.wrap import section
from hangtop.translations import say

LABEL = 12
CURVE_LINES = 4
TICK_CELLS = 18
SIGNS = {"finding": "◆", "restart": "↻", "save": "▾"}
COURSES = {
    "works": "█", "collective": "─", "behind": "▲", "waits": "w", "dataloader": "d", "rendezvous": "z", "loops": "o",
    "blocked": "■", "stopped": "s", "gone": "✗",
    "unknown": "·",
}  # fmt: skip
"""What a rank did, in one cell."""
MOST_TOLD = 200


class TextTimeline:
    """One drawing, `width` cells wide. `by_host`: a row for each machine instead of each rank."""

    def __init__(self, run: WholeRun, width: int, *, by_host: bool = False) -> None:
        self._run, self._width, self._by_host = run, width, by_host
        self._columns = max(20, width - LABEL - 1)
        self._seconds = max(run.end - run.begin, 1e-9)

    def rows(self) -> list[Row]:
        """All of it."""
        return [cut(row, self._width) for row in (*self.picture(), BLANK, *self.told())]

    def picture(self) -> Iterator[Row]:
        """The rows over the axis, and the axis."""
        run = self._run
        yield from self._spans("verdict", run.verdicts)
        yield from self._spans("stage", run.stages, ("accent reverse", "data reverse"))
        yield from self._spans("pause", run.pauses)
        yield from self._marks()
        yield from self._curve()
        courses = _by_host(run.ranks) if self._by_host else [(say(f"rank {each.rank}"), each.bins) for each in run.ranks]
        for name, bins in courses:
            yield (self._label(name), *self._course(bins))
        if run.ranks_left_out:
            yield ((say(f"… {run.ranks_left_out:,} more ranks"), "muted"),)
        yield from self._axis()
        if courses:
            yield self._legend(courses)

    def told(self) -> Iterator[Row]:
        """What happened, in words, the oldest first."""
        run = self._run
        told: list[tuple[float, Row]] = [
            (span.begin, (align(say(span.name), LABEL, COLOURS.get(span.name, "muted")), (_lasted(span), "muted")))
            for span in (*run.verdicts, *run.pauses)
        ]
        told += [
            (mark.at, (align(say(mark.kind), LABEL, MARKS[mark.kind]), (mark.text, "ink")))
            for mark in run.marks
            if mark.kind != "save"
        ]
        if told:
            yield section(say("What happened"), self._width)
        for at, row in sorted(told, key=lambda each: each[0])[:MOST_TOLD]:
            yield ((f"  {_moment(at, run)}  ", "stale"), *row)

    def _column(self, at: float) -> int:
        return min(self._columns - 1, int((at - self._run.begin) / self._seconds * self._columns))

    def _label(self, name: str) -> Cells:
        return align(name, LABEL, "muted")

    def _spans(self, name: str, spans: Sequence[Span], turns: tuple[str, ...] = ()) -> Iterator[Row]:
        if not spans:
            return
        row: list[Cells] = [self._label(say(name))]
        at = 0
        for nth, span in enumerate(spans):
            first, end = self._column(span.begin), self._column(span.end) + (span.end >= self._run.end)
            first, end = max(at, first), max(at, end, first + 1)
            if first >= self._columns or end <= first:
                continue
            role = turns[nth % len(turns)] if turns else f"{COLOURS.get(span.name, 'muted')} reverse"
            row += [(" " * (first - at), ""), align(say(span.name) if end - first > 3 else "", end - first, role)]
            at = end
        yield tuple(row)

    def _marks(self) -> Iterator[Row]:
        if not self._run.marks:
            return
        there: dict[int, str] = {}
        for kind in ("save", "restart", "finding"):  # what is seen where several fall into one cell
            there |= {self._column(mark.at): kind for mark in self._run.marks if mark.kind == kind}
        cells = [(SIGNS[there[nth]], MARKS[there[nth]]) if nth in there else (" ", "") for nth in range(self._columns)]
        yield (self._label(say("events")), *cells)

    def _curve(self) -> Iterator[Row]:
        steps = self._run.steps
        if len(steps) < 2:
            return
        least, most = min(step for _, step in steps), max(step for _, step in steps)
        reached: list[float | None] = [None] * self._columns
        for at, step in steps:
            reached[self._column(at)] = float(step - least) or 0.01
        for nth in range(1, self._columns):
            reached[nth] = reached[nth - 1] if reached[nth] is None else reached[nth]
        names = [say("step"), f"{most:,}", *([""] * (CURVE_LINES - 3)), f"{least:,}"]
        for name, line in zip(names, text.chart(reached, CURVE_LINES, max(1.0, float(most - least))), strict=True):
            yield (self._label(name), (line, "accent"))

    def _course(self, bins: Sequence[str]) -> Iterator[Cells]:
        merged = [""] * self._columns
        for place, what in enumerate(bins):
            column = place * self._columns // BINS
            merged[column] = graver(merged[column], what)
        for what, same in groupby(merged):
            yield (COURSES.get(what, "·" if what else " ") * len(list(same)), COLOURS.get(what, "muted"))

    def _axis(self) -> Iterator[Row]:
        count = max(1, self._columns // TICK_CELLS)
        marks, names = [" "] * self._columns, ""
        for tick in range(count):
            column = self._columns * tick // count
            marks[column] = "╵"
            names = names.ljust(column) + _moment(self._run.begin + self._seconds * tick / count, self._run)
        yield (self._label(""), ("".join(marks), "faint"))
        yield (self._label(""), (names[: self._columns], "muted"))

    def _legend(self, courses: Sequence[tuple[str, Sequence[str]]]) -> Row:
        there = {what for _, bins in courses for what in bins}
        signs = [(sign, COLOURS.get(what, "muted"), say(what)) for what, sign in COURSES.items() if what in there]
        return (self._label(""), *dotted(((f"{sign} ", role), (word, "muted")) for sign, role, word in signs))


def _by_host(courses: Sequence[RankCourse]) -> list[tuple[str, tuple[str, ...]]]:
    """One course for each machine: in each column the worst that one of its ranks did."""
    hosts: dict[str, tuple[str, ...]] = {}
    for course in courses:
        before = hosts.get(course.host, ("",) * len(course.bins))
        hosts[course.host] = tuple(graver(one, other) for one, other in zip(before, course.bins, strict=True))
    return list(hosts.items())


def _lasted(span: Span) -> str:
    return text.duration(span.end - span.begin)


def _moment(at: float, run: WholeRun) -> str:
    """With the day where the run has several."""
    return text.moment(at, run.end + (0 if run.end - run.begin < text.DAY_SHOWN_S else 2 * text.DAY_SHOWN_S))
