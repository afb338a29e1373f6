"""The stacks of two sides, line by line, and where they part. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.common import text
from hangtop.render.pair.pair import Pair, Side
from hangtop.render.spans import Row, align, cut, pad
from hangtop.render.stack_rows import place_of
from hangtop.stacks.activity import Activity, activity_of
from hangtop.stacks.frames import own
from hangtop.stacks.stack_classes import library_summary, parting_of
from hangtop.translations import say

PLACE_CELLS = 28
"""At most, and a third of the side."""
GAP = 3
ALIKE_SHOWN = 2
"""Frames that both share, outward from where they part."""


def stack_rows(pair: Pair, now: float, width: int, role: str) -> Iterator[Row]:
    """Innermost frame first, as everywhere. The frames stand on one line by their distance from the outermost, which both share;
    the first one out from there in which they differ is marked."""
    left, right = (_activity(side) for side in (pair.left, pair.right))
    room = (width - GAP) // 2
    yield _beside(_head(pair.left, now, room), _head(pair.right, now, room), room)
    if left is None or right is None:
        yield _beside(_bare(left), _bare(right), room)
        return
    parts_at = parting_of(left, right)
    deepest = max(len(left.thread.frames), len(right.thread.frames))
    if parts_at is None:
        yield (("  ", ""), (say("the same in every frame"), "ink"))
    end = deepest if parts_at is None else parts_at
    for level in range(deepest - 1, max(-1, end - 1 - ALIKE_SHOWN), -1):
        yield _level_row(left, right, level, parts_at, room, role)
    if rest := left.thread.frames[::-1][: max(0, end - ALIKE_SHOWN)]:
        yield cut(((f"  ⋯ {say(f'{library_summary(rest)}, alike')}", "stale"),), width)


def _level_row(left: Activity, right: Activity, level: int, parts_at: int | None, room: int, role: str) -> Row:
    """One frame of each, so far from the outermost."""
    apart, first = parts_at is not None and level >= parts_at, level == parts_at
    mine = _frame(left, level, room - 2, f"{role} bold" if first else "ink bold" if apart else "muted")
    theirs = _frame(right, level, room - 12 if first else room, "ink bold" if apart else "muted")
    sign = ("▸ ", f"{role} bold") if first else ("  ", "")
    note: Row = (("  ", ""), (say("◂ they part"), f"{role} bold")) if first else ()
    return (*pad((sign, *mine), room), (" " * GAP, ""), *theirs, *note)


def _frame(known: Activity, level: int, room: int, role: str) -> Row:
    """The frame at this distance from the outermost; nothing where the stack is not that deep."""
    place = len(known.thread.frames) - 1 - level
    if place < 0:
        return ()
    frame = known.thread.frames[place]
    mine = place in own(known.thread.frames)
    cells = min(PLACE_CELLS, room * 2 // 5)
    at = place_of(frame, mine=mine)
    at = at if text.cells(at) <= cells else f"…{at[1 - cells :]}"  # its end has the line
    return cut((align(frame.name, max(12, room - cells - 2), role), ("  ", ""), (at, role)), room)


def _activity(side: Side) -> Activity | None:
    return None if side.stack is None else activity_of(side.stack)


def _head(side: Side, now: float, room: int) -> Row:
    known = _activity(side)
    if known is None or side.stack is None:
        return ((f"  {side.who}", "ink bold"),)
    said = f"{say(known.text)} · {say(f'{text.age(now - side.stack.at)} ago')}"
    return cut(((f"  {side.who}", "ink bold"), ("  ", ""), (said, "muted")), room)


def _bare(known: Activity | None) -> Row:
    return () if known is not None else ((f"  {say('no stack of it was taken')}", "muted"),)


def _beside(left: Row, right: Row, room: int) -> Row:
    return (*pad(left, room), (" " * GAP, ""), *cut(right, room))
