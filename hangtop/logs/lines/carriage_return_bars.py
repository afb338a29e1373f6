"""Bars that were redrawn again and again in one long line: only its first and last pieces are searched.

A message ends with a line end, and so ends the line of bars that it was printed behind: it is in the last piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hangtop.logs.lines.literal_scan import Hit

LONG = 2 << 10
"""A line of pieces between `\\r` that is longer than this is folded."""

HEAD = 64
TAIL = 128
"""At least this many bytes at its start and end are searched: they tell the writer, and the latest state of the bar."""

WINDOW = 256 << 10
"""This many bytes are folded and searched at once: one scan for each line would cost as much as the bytes themselves, and a copy
of a whole block takes fresh pages from the kernel."""


def find_folded(data: bytes, find: Callable[[bytes], list[Hit]]) -> list[Hit]:
    """All hits, except in the middle of long lines of bars."""
    hits: list[Hit] = []
    end = 0
    while end < len(data):
        begin, end = end, data.find(b"\n", end + WINDOW) + 1 or len(data)
        pieces = list(_kept(data, begin, end))
        hits += _unfolded(find(b"".join([data[start:stop] for start, stop in pieces])), pieces)
    return hits


def _unfolded(hits: list[Hit], pieces: list[tuple[int, int]]) -> list[Hit]:
    """The hits with their places in the block. No hit spans two pieces, since the second begins with `\\r`."""
    found: list[Hit] = []
    ahead = iter(pieces)
    left_out = limit = 0
    for number, start, stop in hits:
        while start >= limit:
            begin, end = next(ahead)
            left_out, limit = begin - limit, limit + end - begin
        found.append((number, start + left_out, stop + left_out))
    return found


def _kept(data: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """These lines without the middles of long lines of bars, cut at `\\r` so that no literal is torn."""
    index = data.find(b"\r", begin, end)
    while index >= 0:
        row_end = data.find(b"\n", index, end)
        row_end = end if row_end < 0 else row_end
        if row_end - index > LONG:
            middle = data.find(b"\r", index + HEAD, row_end)
            last = data.rfind(b"\r", index, row_end - TAIL)
            if 0 <= middle < last:
                yield begin, middle
                begin = last
        index = data.find(b"\r", row_end, end)
    yield begin, end
