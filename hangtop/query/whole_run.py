"""A whole run at a glance: stages, steps, pauses, verdicts, messages and restarts on one axis of time. Pure: made of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal

from msgspec import Struct

from hangtop.query.tables import FindingRow, RankRow, Row, StageRow, Step, VerdictRow

PAUSE_S = 120.0
PAUSE_STEPS = 5.0
"""A pause between two steps is longer than both: the default stall limit, and so many steps."""
HOLDS_S = 60.0
"""What a rank did at one look it did until the next, but no longer than this: nobody looked then."""
BINS = 240
"""Columns of a rank's row."""
MOST_RANKS = 64
ODD = ("gone", "stopped", "blocked", "waits", "dataloader", "rendezvous", "loops")
"""What a rank does that its peers may wait for, the gravest first; `collective` and `works` are usual."""

MarkKind = Literal["finding", "restart", "save"]


class Span(Struct, frozen=True):
    """From `begin` to `end` (unix times). `name`: a stage's title, a verdict's word."""

    begin: float
    end: float
    name: str


class Mark(Struct, frozen=True):
    """At one moment."""

    at: float
    kind: MarkKind
    text: str


class RankCourse(Struct, frozen=True):
    """What one rank did, by column of time: a status, `behind`, or nothing where it was not seen. `host`: its machine."""

    rank: int
    bins: tuple[str, ...]
    host: str = ""

    @property
    def odd(self) -> int:
        """In how many columns it did what its peers may wait for."""
        return sum(each in ODD or each == "behind" for each in self.bins)


class WholeRun(Struct, frozen=True):
    """All of it. `steps`: time and number. `ranks_left_out`: how many ranks have no row."""

    begin: float
    end: float
    stages: tuple[Span, ...] = ()
    verdicts: tuple[Span, ...] = ()
    pauses: tuple[Span, ...] = ()
    steps: tuple[tuple[float, int], ...] = ()
    marks: tuple[Mark, ...] = ()
    ranks: tuple[RankCourse, ...] = ()
    ranks_left_out: int = 0


LATEST = 253_000_000_000.0
"""In the year 9987: no calendar goes beyond 9999."""


class NoTimeError(ValueError):
    """Nothing in it has a time that can be drawn."""


def whole_run(rows: Iterable[Row]) -> WholeRun:
    """The run that these rows tell. Raises `NoTimeError` where no row has a time."""
    by_kind: dict[type, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(type(row), []).append(row)
    stages = [row for row in by_kind.get(StageRow, ()) if isinstance(row, StageRow) and row.time_s is not None]
    verdicts = [row for row in by_kind.get(VerdictRow, ()) if isinstance(row, VerdictRow)]
    ranks = [row for row in by_kind.get(RankRow, ()) if isinstance(row, RankRow)]
    findings = [row for row in by_kind.get(FindingRow, ()) if isinstance(row, FindingRow) and row.time_s is not None]
    steps = _steps([row for row in by_kind.get(Step, ()) if isinstance(row, Step)])
    times = [
        *(row.time_s for row in stages if row.time_s is not None),
        *(row.done_at for row in stages if row.done_at is not None),
        *(row.time_s for row in findings if row.time_s is not None),
        *(row.time_s for row in verdicts),
        *(row.time_s for row in ranks),
        *(at for at, _ in steps),
    ]
    if not times:
        raise NoTimeError("nothing in it has a time")
    begin, end = min(times), max(times)
    if not 0 <= begin <= end <= LATEST:
        raise NoTimeError("a time in it is no date")
    courses = _courses(ranks, begin, end)
    return WholeRun(
        begin=begin,
        end=end,
        stages=tuple(_spans([(row.time_s or begin, row.title, row.done_at) for row in stages], end)),
        verdicts=tuple(_spans([(row.time_s, row.word, None) for row in verdicts], end)),
        pauses=_pauses(steps, end if verdicts else None),
        steps=steps,
        marks=_marks(stages, findings),
        ranks=tuple(courses[:MOST_RANKS]),
        ranks_left_out=max(0, len(courses) - MOST_RANKS),
    )


def _spans(starts: Sequence[tuple[float, str, float | None]], end: float) -> list[Span]:
    """Each lasts until its own end, else until the next begins; neighbours of one name are one."""
    joined: list[Span] = []
    for (at, name, done_at), after in pairwise((*starts, None)):  # type: ignore[misc]
        until = done_at if done_at is not None else after[0] if after is not None else end
        if joined and joined[-1].name == name and joined[-1].end >= at:
            joined[-1] = Span(joined[-1].begin, max(until, joined[-1].end), name)
        else:
            joined.append(Span(at, max(at, until), name))
    return joined


def _steps(rows: Sequence[Step]) -> tuple[tuple[float, int], ...]:
    """The steps of the run, else those of its first rank; of several counters the one that counts most."""
    timed = [(row.counter, row.rank, row.time_s, row.step) for row in rows if row.time_s is not None]
    if not timed:
        return ()
    counts: dict[tuple[str, int | None], int] = {}
    for counter, rank, _, _ in timed:
        counts[counter, rank] = counts.get((counter, rank), 0) + 1
    chosen = max(counts, key=lambda each: (each[1] is None, counts[each], -(each[1] or 0)))
    return tuple((at, step) for counter, rank, at, step in timed if (counter, rank) == chosen)


def _pauses(steps: Sequence[tuple[float, int]], end: float | None) -> tuple[Span, ...]:
    """Where no step came for longer than the numbers left out between two explain. `end`: until when the run was watched, if it
    was."""
    if len(steps) < 3:
        return ()
    step_s = usual_step_s(steps)
    least = max(PAUSE_S, PAUSE_STEPS * step_s)
    reached = (*steps, (end, steps[-1][1])) if end is not None and end > steps[-1][0] else tuple(steps)
    return tuple(
        Span(before, after, "no step")
        for (before, last), (after, number) in pairwise(reached)
        if after - before > least + max(0, number - last - 1) * step_s
    )


def usual_step_s(steps: Sequence[tuple[float, int]]) -> float:
    """The median time of a step, of times and numbers in order: where numbers are left out, the time between is that of all."""
    took = [(after - before) / (number - last) for (before, last), (after, number) in pairwise(steps) if number > last]
    return median(took) if took else 0.0


def _marks(stages: Sequence[StageRow], findings: Sequence[FindingRow]) -> tuple[Mark, ...]:
    restarts = [
        Mark(after.time_s, "restart", f"attempt {after.attempt}")
        for before, after in pairwise(stages)
        if after.attempt > before.attempt and after.time_s is not None
    ]
    saves = [Mark(row.time_s, "save", row.title) for row in stages if row.id == "checkpoint" and row.time_s is not None]
    told = [Mark(row.time_s, "finding", row.id) for row in findings if row.severity != "hint" and row.time_s is not None]
    return tuple(sorted((*restarts, *saves, *told), key=lambda mark: mark.at))


def _courses(rows: Sequence[RankRow], begin: float, end: float) -> list[RankCourse]:
    """The ranks, those that did odd things longest first."""
    wide = max(end - begin, 1e-9)
    hosts = {row.rank: row.host for row in rows if row.host is not None}
    looks: dict[int, list[RankRow]] = {}
    for row in rows:
        looks.setdefault(row.rank, []).append(row)
    courses = []
    for rank, seen in looks.items():
        course = [""] * BINS
        for row, after in zip(seen, (*seen[1:], None), strict=True):
            until = end if after is None else after.time_s
            until = min(until, row.time_s + HOLDS_S)
            first, last = (min(BINS - 1, int((at - begin) / wide * BINS)) for at in (row.time_s, until))
            what = "behind" if row.lag else row.status or ""
            course[first] = graver(course[first], what)
            course[first + 1 : last] = [what] * (last - first - 1)
        courses.append(RankCourse(rank, tuple(course), hosts.get(rank, "")))
    return sorted(courses, key=lambda course: (-course.odd, course.rank))


def graver(one: str, other: str) -> str:
    """What of two is the worse, of ranks or of columns that share a place."""
    order = (*ODD, "behind", "collective", "works")
    return min(
        (each for each in (one, other) if each), key=lambda each: order.index(each) if each in order else len(order), default=""
    )
