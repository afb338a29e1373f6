"""Whether a long time between two lines was a silence: only if the lines that stand between them bear it out."""

from __future__ import annotations

from hangtop.logs.lines.block_lines import Lines, Span

MOST_READ = 200
"""So many lines are read; where more would have to be, nothing is said."""

EXACT, SHORT_S = 32, 5.0
"""After so many lines a silence shorter than this is not looked for any more."""


def longest_gap_s(lines: Lines, begin: tuple[int, float], end: tuple[int, float], known_s: float) -> float | None:
    """The longest time between two neighbours among the lines from `begin` to `end` (byte index in the block, clock time).

    Parts that are no longer than `known_s` are not looked into: halving the way there reads a handful of lines, not all of them.
    `None` when nothing longer is proven.
    """
    longest, read = known_s, 0
    todo = [(begin, end)]
    while todo:
        before, after = todo.pop()
        if after[1] - before[1] <= (longest if read < EXACT else max(longest, SHORT_S)):
            continue
        between, read = _timed(lines, before[0] + 1, after[0], read)
        if read > MOST_READ:
            return None
        if between is None:
            longest = after[1] - before[1]
        else:
            todo += [(before, between), (between, after)]
    return longest if longest > known_s else None


def _timed(lines: Lines, start: int, stop: int, read: int) -> tuple[tuple[int, float] | None, int]:
    """A line that begins in `[start, stop)` and tells the time, from the middle if there is one; and how many were read."""
    while start < stop and read <= MOST_READ:
        middle = (start + stop) // 2
        span: Span | None = lines.starting_from(middle)
        while span is not None and span.start < stop and read <= MOST_READ:
            read += 1
            stamp = lines.stamp(span)
            if stamp is not None:
                return (span.start, stamp), read
            span = lines.next(span)
        stop = middle
    return None, read
