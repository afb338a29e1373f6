"""Literals that a log repeats by the thousand: only the lines that matter are searched, instead of listing all hits.

A list of all hits costs more than the scan: an error storm was read at 90 MB/s with it, and at 220 MB/s without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, count, islice
from operator import itemgetter, methodcaller

from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.lines.block_lines import IN_PARENTHESES, STAMP, STAMPED, SURE, SURE_BYTES, Lines
from hangtop.logs.lines.literal_scan import Hit

FLOOD = 4_096
"""More hits of one literal in a block are a flood. A message in a flood is parsed only at both ends of the block."""

EDGE = 64
"""The number of hits reported at each end: at least as many as `pick` takes."""

PIECES = 4
"""How many of the last pieces of a line redrawn with `\\r` are searched: nested bars take turns."""

_MOST = 3

FEW_STARTS = 3
"""So many texts before a literal are worth a pass over the bytes each."""

WINDOW = 256 << 10
"""Bytes that are cut into rows at once: they stay in the cache of the core."""

_HEAD = itemgetter(slice(SURE_BYTES))
_ROW_OF, _LAST = methodcaller("rpartition", b"\n"), itemgetter(2)
_TO_ROW_END, _FIRST = methodcaller("partition", b"\n"), itemgetter(0)
_DIGITS_ALIKE = bytes.maketrans(b"0123456789", b"0000000000")
_RANK_HEAD = itemgetter(slice(9))
_RANK_NUMBER = re.compile(rb"['\"]?[ :=_#-]{0,3}\d+")
"""What follows `rank` or `Rank` where it names one, as in `RANK_WORD`."""


class RepeatedLiterals:
    """The literals that flooded one file so far. They are left out of the scan from then on, and searched here."""

    def __init__(self, index: LiteralIndex) -> None:
        self._index = index
        self.numbers: frozenset[int] = frozenset()

    def learn(self, numbers: Iterable[int]) -> None:
        """These literals flooded a block. Only a few are kept: each costs a pass over every later block."""
        index = self._index
        new = [number for number in numbers if not (number in index.begins_text or index.each[number].ends_text)]
        self.numbers |= frozenset(new[: _MOST - len(self.numbers)])

    def hits(self, lines: Lines) -> tuple[list[Hit], dict[int, int]]:
        """The hits that may matter, in no order; and for each literal in a flood how many more there are, at least 1."""
        found: list[Hit] = []
        left: dict[int, int] = {}
        walked: list[bytes] = []
        data = lines.block.data
        literals = self._index.scanner.literals
        for number in sorted(self.numbers, key=lambda number: _place_in_row(literals[number], lines)):
            literal = literals[number]
            places = set(islice(_places(data, literal), EDGE))
            if len(places) == EDGE:
                if self._index.each[number].progress:
                    if not any(_stands_beside(literal, other, lines) for other in walked):
                        places.update((_newest_pieces if lines.has_bars else _newest_rows)(lines, literal))
                        walked.append(literal)
                    left[number] = 1
                else:
                    places.update(islice(_places_back(data, literal), EDGE))
                    left[number] = max(1, data.count(literal) - len(places))
            found += [(number, place, place + len(literal)) for place in places]
        return found, left


def _places(data: bytes, literal: bytes) -> Iterator[int]:
    place = data.find(literal)
    while place >= 0:
        yield place
        place = data.find(literal, place + 1)


def _places_back(data: bytes, literal: bytes) -> Iterator[int]:
    place = data.rfind(literal)
    while place >= 0:
        yield place
        place = data.rfind(literal, 0, place + len(literal) - 1)


def stands_in_rows(literal: bytes, lines: Lines) -> bool:
    """Whether no `\\r` draws the lines that hold the literal, judged by the lines at both ends."""
    data = lines.block.data
    ends = () if not lines.has_bars else _ends(data, literal)
    rows = ((data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)) for place in ends)
    return all(data.find(b"\r", start, end if end >= 0 else len(data)) < 0 for start, end in rows)


def _ends(data: bytes, literal: bytes) -> tuple[int, ...]:
    return (*islice(_places(data, literal), EDGE), *islice(_places_back(data, literal), EDGE))


def _stands_beside(literal: bytes, other: bytes, lines: Lines) -> bool:
    """Whether both literals stand in the same lines, judged by the lines at both ends: then one search is enough."""
    data = lines.block.data
    spans = [lines.span(place) for place in _ends(data, literal)]
    return all(span.start == span.row and data.find(other, span.start, span.end) >= 0 for span in spans)


def _place_in_row(literal: bytes, lines: Lines) -> int:
    """The distance of the literal from the start of its line. The words before the first one tell the writer and little else."""
    place = lines.block.data.rfind(literal)
    return place - lines.block.data.rfind(b"\n", 0, max(0, place))


def _newest_rows(lines: Lines, literal: bytes) -> Iterator[int]:
    """The newest hit of each writer, from the end on; all lines are visited, as in `pick`. Some thousand rows at a time: if all
    their writers are known, they are skipped without a Python step for each row."""
    known, heads, starts = {b""}, set[bytes](), set[bytes]()
    data = lines.block.data
    begin = len(data)
    while begin > 0:
        end, begin = begin, data.rfind(b"\n", 0, max(0, begin - WINDOW)) + 1
        text = b"\n" + data[begin:end]
        if b"ank" not in text and _all_begin_so(text, literal, starts):
            continue
        rows = text[1:].split(b"\n")
        names = set(map(_HEAD, rows)) - known
        new = {name for name in names if name.startswith(SURE)}
        told = set[bytes]()
        if len(new) < len(names):
            pieces = text.split(literal)
            begun = list(map(_LAST, map(_ROW_OF, pieces[:-1])))
            starts = set(begun)
            if ranks := _ranks_behind(text, begun, pieces):
                told = (ranks | set(map(_head, starts))) - heads
            else:
                newest = _newest_of_each_head(begun)
                told = newest.keys() - heads
                if not any(map(_is_open, told)):
                    heads |= told
                    places = _places_of([newest[head] for head in told], pieces, literal)
                    yield from _of_new_writers(lines, (begin - 1 + place for place in places), known)
                    continue
        heads |= told
        while rows and (new or told):
            row = rows.pop()
            end -= len(row)
            name = row[:SURE_BYTES]
            if name not in known and (place := row.rfind(literal)) >= 0:
                if name.startswith(SURE):
                    new.discard(name)
                else:
                    name = lines.key(end, end + place)
                if name not in known:
                    known.add(name)
                    yield end + place
            end -= 1


def _newest_of_each_head(begun: list[bytes]) -> dict[bytes, int]:
    """The number of the last hit behind each head. `begun`: what stands before each hit in its row."""
    newest: dict[bytes, int] = {}
    stamp = _stamp_of_all(begun)
    starts = begun if stamp is None else map(itemgetter(slice(stamp, None)), begun)
    for start, number in dict(zip(starts, count())).items():
        head = _head(start) if stamp is None else _without_work(start)
        newest[head] = max(number, newest.get(head, -1))
    return newest


def _stamp_of_all(begun: list[bytes]) -> int | None:
    """How long the times are with which all of these begin; `None` where some do not, or where their forms differ."""
    if not begun or (stamp := STAMP.match(begun[0])) is None:
        return None
    form, bytes_ = stamp[0].translate(_DIGITS_ALIKE), stamp.end()
    is_one = b"".join(map(itemgetter(slice(bytes_)), begun)).translate(_DIGITS_ALIKE) == form * len(begun)
    return bytes_ if is_one else None


def _places_of(numbers: list[int], pieces: list[bytes], literal: bytes) -> list[int]:
    """Where these hits stand, the newest first. `pieces`: what stands between the hits."""
    ends = list(accumulate(map(len, pieces))) if numbers else []
    return [ends[number] + len(literal) * number for number in sorted(numbers, reverse=True)]


def _of_new_writers(lines: Lines, places: Iterable[int], known: set[bytes]) -> Iterator[int]:
    """The hits whose writer is not known, and then is."""
    data = lines.block.data
    for place in places:
        start = data.rfind(b"\n", 0, place) + 1
        name = data[start : start + SURE_BYTES]
        if not name.startswith(SURE):
            name = lines.key(start, place)
        if name not in known:
            known.add(name)
            yield place


def _ranks_behind(text: bytes, begun: list[bytes], pieces: list[bytes]) -> set[bytes]:
    """The ranks that rows name behind their hits, as `step=4 loss=2.1 rank=3` does."""
    if text.count(b"ank") == b"\n".join(begun).count(b"ank"):
        return set()  # all stand before a hit
    behind = b"\n".join(map(_FIRST, map(_TO_ROW_END, pieces[1:])))
    if b"ank" not in behind:
        return set()
    words = set(map(_RANK_HEAD, behind.split(b"ank")[1:]))
    return {b"ank" + found[0] for found in map(_RANK_NUMBER.match, words) if found is not None}


def _all_begin_so(text: bytes, literal: bytes, starts: set[bytes]) -> bool:
    """Whether one of these few texts stands before each hit in its row: where there is no prefix, the same words stand there."""
    few = 0 < len(starts) <= FEW_STARTS
    return few and text.count(literal) == sum(text.count(b"\n" + start + literal) for start in starts)


def _head(start: bytes) -> bytes:
    """What may tell the writer in the words that stand before the literal: these, without the time."""
    return _without_work(STAMP.sub(b"", start, 1) if start.startswith(STAMPED) else start)


def _without_work(head: bytes) -> bytes:
    """Of a writer in parentheses what stands in these."""
    return head[: head.find(b")") + 1] or head if head.startswith(IN_PARENTHESES) else head


def _is_open(head: bytes) -> bool:
    """Whether the literal stands inside of the parentheses that name the writer."""
    return head.startswith(IN_PARENTHESES) and not head.endswith(b")")


def _newest_pieces(lines: Lines, literal: bytes) -> Iterator[int]:
    """The same where `\\r` redraws lines: only the last pieces of each row are searched."""
    known: set[bytes] = set()
    data = lines.block.data
    rfind = data.rfind  # this loop runs a million times a second
    place, row, pieces = len(data), len(data), 0
    while (place := rfind(literal, 0, place)) >= 0:
        start = rfind(b"\n", 0, place) + 1
        pieces = pieces + 1 if start == row else 0
        row = start
        start = rfind(b"\r", row, place) + 1 or row if pieces < PIECES else row
        name = data[start : start + SURE_BYTES]
        if name not in known:
            if not name.startswith(SURE):
                name = lines.key(start, place)
            if name not in known:
                known.add(name)
                yield place
        place = start
