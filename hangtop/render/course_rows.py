"""Numbers over the whole run as charts below each other, on one axis, with a cursor that reads them. Pure.

Blocks, not braille: their width is the same in every terminal. A column shows the greatest value in it, so that no spike is lost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby, pairwise

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common import text
from hangtop.render.late_rows import late_rows
from hangtop.render.spans import BLANK, Row, align, cut
from hangtop.translations import say

LABEL = 12
LINES = 4
LEAST_COLUMNS = 10
ALIKE = 1e-6
"""A course that varies by no more than this part is flat: one line says its value."""
OVER = "●"
"""A second run."""
Values = Sequence[float | None]
Point = tuple[float | None, int | None, float, float, float]
"""Unix time, step, and the mean, least and greatest value."""


class Curve(Struct, frozen=True):
    """One number. `points`: in order; `over`: those of another run, laid over them. `from_zero`: drawn from 0 on."""

    name: str
    points: tuple[Point, ...]
    from_zero: bool = False
    over: tuple[Point, ...] = ()


class Window(Struct, frozen=True):
    """The part of the axis that is in view, and the cursor, from 0 to 1 of the whole. `timed`: the axis is time, else steps."""

    begin: float = 0.0
    end: float = 1.0
    cursor: float = 1.0

    def moved(self, by: float) -> Window:
        """The cursor further by so many parts of what is in view, which goes along."""
        cursor = min(1.0, max(0.0, self.cursor + by * (self.end - self.begin)))
        shift = min(0.0, cursor - self.begin) + max(0.0, cursor - self.end)
        return Window(self.begin + shift, self.end + shift, cursor)

    def zoomed(self, factor: float) -> Window:
        """So much of the axis, around the cursor."""
        width = min(1.0, max(0.005, (self.end - self.begin) * factor))
        begin = min(1.0 - width, max(0.0, self.cursor - width / 2))
        return Window(begin, begin + width, self.cursor)


class Axis(Struct, frozen=True):
    """Time, where all curves tell it; else steps, and what has none is left out."""

    timed: bool
    first: float
    last: float

    def place(self, point: Point) -> float | None:
        """Where a point stands on it."""
        return point[0] if self.timed else point[1]

    def at(self, part: float) -> float:
        return self.first + part * (self.last - self.first)


def axis_of(curves: Sequence[Curve]) -> Axis | None:
    """`None` where there is nothing to draw."""
    for timed in (True, False):
        places = [point[0 if timed else 1] for curve in curves for point in curve.points]
        known = [place for place in places if place is not None]
        if known and 2 * len(known) >= len(places) and min(known) < max(known):
            return Axis(timed, float(min(known)), float(max(known)))
    return None


def laid_over(curves: Sequence[Curve], others: Sequence[Curve]) -> tuple[Curve, ...]:
    """Each curve with the one of the same name of another run. Their axis is of steps: two runs were at different times. A number
    that tells none has those of the time at which it was read."""
    theirs = {curve.name: curve.points for curve in _on_steps(others)}
    return tuple(replace(curve, over=theirs.get(curve.name, ())) for curve in _on_steps(curves))


def _on_steps(curves: Sequence[Curve]) -> list[Curve]:
    """Without times; points without a step get that of the run at their time, and are left out where there is none."""
    known = sorted({(at, step) for curve in curves for at, step, *_ in curve.points if at is not None and step is not None})
    times = [at for at, _ in known]

    def step_of(point: Point) -> int | None:
        if point[1] is not None or point[0] is None or not known or not times[0] <= point[0] <= times[-1]:
            return point[1]
        return known[bisect_left(times, point[0])][1]

    told = [(curve, [(None, step_of(point), *point[2:]) for point in curve.points]) for curve in curves]
    return [replace(curve, points=tuple(point for point in points if point[1] is not None)) for curve, points in told]


def course_rows(curves: Sequence[Curve], window: Window, width: int, late: Sequence[Curve] = ()) -> list[Row]:
    """A chart for each curve, and the axis below. `late`: of each rank, as rows of shades before the GPUs."""
    axis, columns = axis_of((*curves, *late)), width - LABEL - 1
    if axis is None or columns < LEAST_COLUMNS:
        nothing = say("nothing here to draw yet: the log tells no number beside its steps")
        return [cut(((nothing, "muted"),), width)]
    begin, end = axis.at(window.begin), axis.at(window.end)
    cursor = min(columns - 1, max(0, round((axis.at(window.cursor) - begin) / (end - begin) * (columns - 1))))
    rows: list[Row] = []
    shades = late_rows([(each.name, _columns(each.points, axis, begin, end, columns)) for each in late], cursor, LABEL, width)
    for curve in curves:
        if shades and curve.from_zero:  # that of a machine: what the log tells comes first
            rows += [*shades, BLANK]
            shades = []
        values, over = (_columns(points, axis, begin, end, columns) for points in (curve.points, curve.over))
        if any(value is not None for value in (*values, *over)):
            rows += [*_chart(curve, values, over, axis, window, cursor, width), BLANK]
    rows += [*shades, BLANK] if shades else []
    return [*rows, cut(_axis_row(axis, begin, end, columns), width)]


def readout(curves: Sequence[Curve], window: Window) -> Row:
    """Where the cursor stands: `10:03:17 · step 1,204`."""
    axis = axis_of(curves)
    if axis is None:
        return ()
    at = axis.at(window.cursor)
    steps = [point[1] for curve in curves if (point := _nearest(curve.points, axis, at)) is not None and point[1] is not None]
    parts = [text.clock(at)] if axis.timed else []
    return ((" · ".join((*parts, *([f"step {steps[0]:,}"] if steps else []))), "accent bold"),)


def _nearest(points: Sequence[Point], axis: Axis, at: float) -> Point | None:
    known = [(place, point) for point in points if (place := axis.place(point)) is not None]
    if not known:
        return None
    found = bisect_left([place for place, _ in known], at)
    return min(known[max(0, found - 1) : found + 1], key=lambda each: abs(each[0] - at))[1]


def _columns(points: Sequence[Point], axis: Axis, begin: float, end: float, columns: int) -> list[float | None]:
    """The greatest value in each column; a column between two points has the one before, as long as the run goes on."""
    values: list[float | None] = [None] * columns
    for point in points:
        if (place := axis.place(point)) is not None and begin <= place <= end:
            column = round((place - begin) / (end - begin) * (columns - 1))
            values[column] = max(point[4], known) if (known := values[column]) is not None else point[4]
    told = [column for column, value in enumerate(values) if value is not None]
    for first, after in pairwise(told):
        for column in range(first + 1, after):
            values[column] = values[first]
    return values


def _chart(curve: Curve, values: Values, over: Values, axis: Axis, window: Window, cursor: int, width: int) -> list[Row]:
    begin, end = axis.at(window.begin), axis.at(window.end)
    both = (*curve.points, *curve.over)
    inside = [point for point in both if (place := axis.place(point)) is not None and begin <= place <= end]
    low, high = min(point[3] for point in inside), max(point[4] for point in inside)
    if high - low <= ALIKE * max(abs(low), abs(high)):
        same = ((f"{curve.name:<{LABEL}} ", "muted"), (text.metric(high), "ink"), (f"   {say('all the way')}", "muted"))
        return [cut(same, width)]
    here, there = (
        "" if (point := _nearest(points, axis, axis.at(window.cursor))) is None else _told(point)
        for points in (curve.points, curve.over)
    )
    named: Row = ((f"{curve.name:<{LABEL}} ", "ink bold"), (here, "accent bold"))
    named = (*named, (f"   {OVER} {there}", "warn bold")) if there else named
    range_ = (f"   {say('least')} {text.metric(low)} · {say('greatest')} {text.metric(high)}", "muted")
    rows: list[Row] = [cut((*named, range_), width)]
    foot = min(0.0, low) if curve.from_zero else low
    tall = text.chart([None if value is None else value - foot for value in values], LINES, high - foot)
    marks = [None if value is None else min(LINES - 1, int((value - foot) / (high - foot) * LINES)) for value in over]
    for number, line in enumerate(tall):
        label = text.metric(high) if number == 0 else text.metric(foot) if number == LINES - 1 else ""
        cells = [(OVER, "warn") if mark == LINES - 1 - number else (sign, "data") for sign, mark in zip(line, marks, strict=True)]
        cells[cursor] = (cells[cursor][0] if cells[cursor][0] != " " else "·", "accent reverse")
        parts = [("".join(sign for sign, _ in alike), role) for role, alike in groupby(cells, key=lambda cell: cell[1])]
        rows.append((align(label, LABEL, "stale", right=True), (" ", ""), *parts))
    return rows


def _told(point: Point) -> str:
    """The value, or what it went between."""
    _, _, mean, low, high = point
    least, greatest = text.metric(low), text.metric(high)
    return text.metric(mean) if least == greatest else f"{text.metric(mean)} ({least} … {greatest})"


def _axis_row(axis: Axis, begin: float, end: float, columns: int) -> Row:
    shown = text.clock if axis.timed else (lambda value: f"step {value:,.0f}")
    left, right = shown(begin), shown(end)
    return ((" " * (LABEL + 1), ""), (f"{left}{right:>{max(1, columns - len(left))}}", "stale"))
