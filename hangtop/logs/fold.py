"""Bars that were drawn again and again in one long line: only its first and last pieces are searched.

A message ends with a line end, and so ends the line of bars that it is glued to: it stands in the last piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hangtop.logs.scan import Hit

LONG = 2 << 10
"""A line of pieces between `\\r` that is longer than this is folded."""

HEAD = 64
TAIL = 128
"""At least so many bytes at its start and at its end are searched: they hold who draws it, and how far it is."""


def find_folded(data: bytes, find: Callable[[bytes], list[Hit]]) -> list[Hit]:
    """All hits, but for those in the middle of long lines of bars."""
    kept: list[bytes] = []
    folds: list[tuple[int, int]] = []  # where one stands in what is kept, and how many bytes are left out up to there
    done = size = 0
    for begin, end in _middles(data):
        kept.append(data[done:begin])
        size += begin - done
        done = end
        folds.append((size, end - size))
    if not folds:
        return find(data)
    return _unfolded(find(b"".join((*kept, data[done:]))), folds)


def _unfolded(hits: list[Hit], folds: list[tuple[int, int]]) -> list[Hit]:
    """Where they stand in the whole. No hit lies across a fold, since what comes behind one begins with `\\r`."""
    found: list[Hit] = []
    ahead = iter((*folds, (1 << 62, 0)))
    left_out, (limit, more) = 0, next(ahead)
    for number, start, stop in hits:
        while start >= limit:
            left_out, (limit, more) = more, next(ahead)
        found.append((number, start + left_out, stop + left_out))
    return found


def _middles(data: bytes) -> Iterator[tuple[int, int]]:
    """The middles of long lines of bars, cut at `\\r`, so that no literal is torn."""
    index = data.find(b"\r")
    while index >= 0:
        row_end = data.find(b"\n", index)
        row_end = len(data) if row_end < 0 else row_end
        if row_end - index > LONG:
            begin = data.find(b"\r", index + HEAD, row_end)
            end = data.rfind(b"\r", index, row_end - TAIL)
            if 0 <= begin < end:
                yield begin, end
        index = data.find(b"\r", row_end)
