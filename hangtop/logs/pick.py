"""Which lines of a block are worth parsing: all while hits are few; in a flood, the first ones and each writer's newest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter

from msgspec import Struct

from hangtop.logs.index import Index
from hangtop.logs.lines import Lines
from hangtop.logs.scan import Hit

FEW, FIRST = 64, 24
"""A literal with no more than `FEW` hits in a block has all its lines parsed; of one with more the first ones, for the pace."""

LARGE = 1 << 20
FEW_IN_LARGE = 8
"""The same for both in a block larger than `LARGE`, where older parts of a big file are read."""

PIECES = 4
"""So many of the last pieces of a line that was drawn again and again with `\\r` are looked at: nested bars take turns."""

STORM = 4_096
"""A message (not a progress line) with more hits than this is not asked for each writer's newest, only for its newest."""


_SURE = (b"[rank", b"[default")
_SURE_BYTES = 11  # a line that begins with one of these is told from others by so many bytes, without looking further


class Picked(Struct, frozen=True):
    """`at`: a byte index inside each line to parse, ascending. `skipped`: hits of each literal that were left out."""

    at: list[int]
    skipped: dict[int, int]


def pick(hits: Sequence[Hit], lines: Lines, index: Index, in_text: bool) -> Picked:
    """The lines to parse. `in_text`: free text is open, so that no end of it may be missed."""
    few, first = (FEW, FIRST) if len(lines.block.data) <= LARGE else (FEW_IN_LARGE, FEW_IN_LARGE)
    if len(hits) <= few:
        return Picked(sorted({start for _, start, _ in hits}), {})
    counts = Counter(map(itemgetter(0), hits))
    in_text = in_text or any(index.begins_text[number] for number in counts)
    many = {number for number, count in counts.items() if count > few and not _borders_text(number, index, in_text)}
    if not many:
        return Picked(sorted({start for _, start, _ in hits}), {})
    rare = len(hits) > sum(counts[number] for number in many)
    picked = {start for number, start, _ in hits if number not in many} if rare else set()
    before = len(picked)
    picked.update(_first(hits, many, first))
    storm = {number for number in many if counts[number] > STORM and not index.is_progress[number]}
    picked.update(_first(reversed(hits), storm, first))
    picked.update(_newest_of_each_writer(hits, lines, many - storm))
    taken = len(picked) - before
    return Picked(sorted(picked), {number: max(0, counts[number] - taken) for number in many if index.signatures[number]})


def _borders_text(number: int, index: Index, in_text: bool) -> bool:
    """Whether a literal begins or ends free text, so that each of its lines counts."""
    return in_text and (index.begins_text[number] or index.ends_text[number])


def _first(hits: Iterable[Hit], many: set[int], count: int) -> list[int]:
    """The first hits of each of these literals, so many of each."""
    left = dict.fromkeys(many, count)
    found: list[int] = []
    for number, start, _ in hits:
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
    seen: dict[int, set[bytes]] = {number: set() for number in many}
    found: list[int] = []
    data, bars = lines.block.data, lines.has_bars
    rfind = data.rfind  # this loop runs once for each hit of a flood: a million times a second
    line_start, row, pieces = len(data), len(data), 0
    for number, start, _ in reversed(hits):
        if start >= line_start or number not in many:
            continue
        line_start = rfind(b"\n", 0, start) + 1
        if bars:
            pieces = pieces + 1 if line_start == row else 0
            row = line_start
            if pieces < PIECES:
                line_start = lines.start(start)
        name = data[line_start : line_start + _SURE_BYTES]
        known = seen[number]
        if name in known:
            continue
        if not name.startswith(_SURE):
            name = b":" + lines.name(line_start, start)
            if name in known:
                continue
        known.add(name)
        found.append(start)
    return found
