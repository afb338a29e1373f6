"""The log lines of two ranks in parallel, on one clock. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

from hangtop.common import text
from hangtop.records.log import LogLine
from hangtop.render.log.log_rows import ROLES
from hangtop.render.pair.pair import Pair
from hangtop.render.spans import Row, cut, pad
from hangtop.render.view import View
from hangtop.translations import say

LINES = 60
"""Of each rank, the newest."""
TIME_CELLS, GAP = 10, 3

Moment = tuple[float, LogLine]


def log_rows(view: View, pair: Pair, width: int) -> Iterator[Row]:
    """A row for each second in which one of them told something; what both told in one second stands side by side."""
    left, right = (_moments(view.state.tail, side.speaker.rank) for side in (pair.left, pair.right))
    room = (width - TIME_CELLS - GAP) // 2
    names = tuple(((f"rank {side.speaker.rank}", "ink bold"),) for side in (pair.left, pair.right))
    yield _row("", names[0], names[1], room)
    if not left and not right:
        yield ((say("none among the newest lines"), "muted"),)
    for second, ours, theirs in _in_parallel(left, right):
        for number, (mine, other) in enumerate(zip_longest(ours, theirs)):
            at = text.clock(second) if second and not number else ""
            yield _row(at, _line(mine, room), _line(other, room), room)


def _in_parallel(left: Sequence[Moment], right: Sequence[Moment]) -> Iterator[tuple[int, list[LogLine], list[LogLine]]]:
    """Second of the clock, and the lines of both in it; 0 where none has a time."""
    sides = [(at, side, line) for side, moments in enumerate((left, right)) for at, line in moments]
    for second, group in groupby(sorted(sides, key=lambda each: each[0]), key=lambda each: int(each[0])):
        told = list(group)
        ours, theirs = ([line for _, of, line in told if of == side] for side in (0, 1))
        yield second, ours, theirs


def _moments(tail: Iterable[LogLine], rank: int) -> list[Moment]:
    """The lines of a rank with their times; one without a time has that of the line before."""
    told: list[Moment] = []
    at = 0.0
    for line in tail:
        if line.rank == rank and line.kind != "border":
            at = max(at, line.at or 0.0)
            told.append((at, line))
    return told[-LINES:]


def _line(line: LogLine | None, room: int) -> Row:
    return () if line is None else cut(((line.text[: 4 * room], ROLES[line.kind]),), room)


def _row(at: str, left: Row, right: Row, room: int) -> Row:
    return ((f"{at:<{TIME_CELLS}}", "stale"), *pad(left, room), (" " * GAP, ""), *right)
