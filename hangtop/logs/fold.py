"""Bars that were drawn again and again in one long line: only its first and last pieces are searched.

A message ends with a line end, and so ends the line of bars that it is glued to: it stands in the last piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hangtop.logs.scan import Hit

LONG = 2 << 10
"""A line of pieces between `\\r` that is longer than this is folded."""

HEAD = 64
TAIL = 256
"""At least so many bytes at its start and at its end are searched: they hold who draws it, and how far it is."""


def find_folded(data: bytes, find: Callable[[bytes], list[Hit]]) -> list[Hit]:
    """All hits, but for those in the middle of long lines of bars."""
    hits: list[Hit] = []
    done = 0
    for begin, end in _middles(data):
        hits += [(number, start + done, stop + done) for number, start, stop in find(data[done:begin])]
        done = end
    return hits + [(number, start + done, stop + done) for number, start, stop in find(data[done:])] if done else find(data)


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
