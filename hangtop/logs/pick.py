"""Which lines of a block are worth parsing: all while hits are few; in a flood, the first ones and each writer's newest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter

from msgspec import Struct

from hangtop.logs.index import Index
from hangtop.logs.lines import Lines
from hangtop.logs.scan import Hit

FEW = 24
"""A literal with no more hits in a block than this has all its lines parsed."""

FIRST = 8
"""Of a literal with more, so many lines are parsed from the start of the block: they tell the pace."""

STORM = 4_096
"""A message (not a progress line) with more hits than this is not asked for each writer's newest, only for its newest."""


class Picked(Struct, frozen=True):
    """`at`: a byte index inside each line to parse, ascending. `skipped`: hits of each literal that were left out."""

    at: list[int]
    skipped: dict[int, int]


def pick(hits: Sequence[Hit], lines: Lines, index: Index) -> Picked:
    """The lines to parse."""
    if len(hits) <= FEW:
        return Picked(sorted({start for _, start, _ in hits}), {})
    counts = Counter(map(itemgetter(0), hits))
    many = {number for number, count in counts.items() if count > FEW and not index.is_block[number]}
    if not many:
        return Picked(sorted({start for _, start, _ in hits}), {})
    picked = {start for number, start, _ in hits if number not in many}
    before = len(picked)
    picked.update(_first(hits, many))
    storm = {number for number in many if counts[number] > STORM and not index.is_progress[number]}
    picked.update(_first(reversed(hits), storm))
    picked.update(_newest_of_each_writer(hits, lines, many - storm))
    taken = len(picked) - before
    return Picked(sorted(picked), {number: max(0, counts[number] - taken) for number in many if index.signatures[number]})


def _first(hits: object, many: set[int]) -> list[int]:
    """The first few hits of each of these literals."""
    left = dict.fromkeys(many, FIRST)
    found: list[int] = []
    for number, start, _ in hits:  # type: ignore[attr-defined]
        if number in left:
            found.append(start)
            left[number] -= 1
            if not left[number]:
                del left[number]
                if not left:
                    break
    return found


def _newest_of_each_writer(hits: Sequence[Hit], lines: Lines, many: set[int]) -> list[int]:
    """Newest first, one visit to each line; a line is passed over when its writer was seen with the same literal.

    There is no early end and no cap: the rank that lags, and so stands furthest back, is the one that matters.
    """
    seen: set[tuple[int, tuple[bytes, ...]]] = set()
    found: list[int] = []
    line_start = len(lines.block.data)
    for number, start, _ in reversed(hits):
        if start >= line_start or number not in many:
            continue
        line_start = lines.start(start)
        key = (number, lines.name(line_start, start))
        if key not in seen:
            seen.add(key)
            found.append(start)
    return found
