"""Numbers over the whole run as charts below each other, on one axis, with a cursor that reads them. Pure.

Blocks, not braille: their width is the same in every terminal. A column shows the greatest value in it, so that no spike is lost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from hangtop.common import text
from hangtop.render.spans import BLANK, Row, align, cut
from hangtop.translations import say

LABEL = 12
LINES = 4
LEAST_COLUMNS = 10
ALIKE = 1e-6
"""A course that varies by no more than this part is flat: one line says its value."""
Point = tuple[float | None, int | None, float, float, float]
"""Unix time, step, and the mean, least and greatest value."""


class Curve(Struct, frozen=True):
    """One number. `points`: in order. `from_zero`: drawn from 0 on."""

    name: str
    points: tuple[Point, ...]
    from_zero: bool = False


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


def course_rows(curves: Sequence[Curve], window: Window, width: int) -> list[Row]:
    """A chart for each curve, and the axis below."""
    axis, columns = axis_of(curves), width - LABEL - 1
    if axis is None or columns < LEAST_COLUMNS:
        nothing = say("nothing here to draw yet: the log tells no number beside its steps")
        return [cut(((nothing, "muted"),), width)]
    begin, end = axis.at(window.begin), axis.at(window.end)
    cursor = min(columns - 1, max(0, round((axis.at(window.cursor) - begin) / (end - begin) * (columns - 1))))
    rows: list[Row] = []
    for curve in curves:
        values = _columns(curve, axis, begin, end, columns)
        if any(value is not None for value in values):
            rows += [*_chart(curve, values, axis, window, cursor, width), BLANK]
    return [*rows, cut(_axis_row(axis, begin, end, columns), width)]


def readout(curves: Sequence[Curve], window: Window) -> Row:
    """Where the cursor stands: `10:03:17 · step 1,204`."""
    axis = axis_of(curves)
    if axis is None:
        return ()
    at = axis.at(window.cursor)
    steps = [point[1] for curve in curves if (point := _nearest(curve, axis, at)) is not None and point[1] is not None]
    parts = [text.clock(at)] if axis.timed else []
    return ((" · ".join((*parts, *([f"step {steps[0]:,}"] if steps else []))), "accent bold"),)


def _nearest(curve: Curve, axis: Axis, at: float) -> Point | None:
    known = [(place, point) for point in curve.points if (place := axis.place(point)) is not None]
    if not known:
        return None
    found = bisect_left([place for place, _ in known], at)
    return min(known[max(0, found - 1) : found + 1], key=lambda each: abs(each[0] - at))[1]


def _columns(curve: Curve, axis: Axis, begin: float, end: float, columns: int) -> list[float | None]:
    """The greatest value in each column; a column between two points has the one before, as long as the run goes on."""
    values: list[float | None] = [None] * columns
    for point in curve.points:
        if (place := axis.place(point)) is not None and begin <= place <= end:
            column = round((place - begin) / (end - begin) * (columns - 1))
            values[column] = max(point[4], known) if (known := values[column]) is not None else point[4]
    told = [column for column, value in enumerate(values) if value is not None]
    for first, after in pairwise(told):
        for column in range(first + 1, after):
            values[column] = values[first]
    return values


def _chart(curve: Curve, values: Sequence[float | None], axis: Axis, window: Window, cursor: int, width: int) -> list[Row]:
    begin, end = axis.at(window.begin), axis.at(window.end)
    inside = [point for point in curve.points if (place := axis.place(point)) is not None and begin <= place <= end]
    low, high = min(point[3] for point in inside), max(point[4] for point in inside)
    if high - low <= ALIKE * max(abs(low), abs(high)):
        same = ((f"{curve.name:<{LABEL}} ", "muted"), (text.metric(high), "ink"), (f"   {say('all the way')}", "muted"))
        return [cut(same, width)]
    point = _nearest(curve, axis, axis.at(window.cursor))
    here = "" if point is None else _told(point)
    named = ((f"{curve.name:<{LABEL}} ", "ink bold"), (here, "accent bold"))
    range_ = (f"   {say('least')} {text.metric(low)} · {say('greatest')} {text.metric(high)}", "muted")
    rows: list[Row] = [cut((*named, range_), width)]
    foot = min(0.0, low) if curve.from_zero else low
    tall = text.chart([None if value is None else value - foot for value in values], LINES, high - foot)
    for number, line in enumerate(tall):
        label = text.metric(high) if number == 0 else text.metric(foot) if number == LINES - 1 else ""
        marked = line[cursor] if line[cursor] != " " else "·"
        parts = ((line[:cursor], "data"), (marked, "accent reverse"), (line[cursor + 1 :], "data"))
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
