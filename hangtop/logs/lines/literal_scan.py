"""One pass over the bytes for all literals at once.

Of bars that were redrawn again and again in one long line, only the first and last pieces are searched. A message ends with a
line end, and so ends the line of bars that it was printed behind: it is in the last piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter

from ahocorasick_rs import BytesAhoCorasick

Hit = tuple[int, int, int]
"""Number of the literal, first byte, end."""

_END_THEN_START = itemgetter(2, 1)

LONG = 2 << 10
"""A line of pieces between `\\r` that is longer than this is folded."""

HEAD = 64
TAIL = 128
"""At least this many bytes at its start and end are searched: they tell the writer, and the latest state of the bar."""

WINDOW = 256 << 10
"""This many bytes are folded and searched at once: one scan for each line would cost as much as the bytes themselves, and a copy
of a whole block takes fresh pages from the kernel."""


class Scanner:
    """Finds all occurrences of a set of literals, overlapping ones included. A literal is numbered by its place in the set."""

    def __init__(self, literals: Iterable[str]) -> None:
        self.literals = tuple(literal.encode() for literal in literals)
        self._automaton = BytesAhoCorasick(self.literals)

    def hits(self, data: bytes) -> list[Hit]:
        """All occurrences, in the order of their ends; of those that end together, the longest first."""
        found: list[Hit] = self._automaton.find_matches_as_indexes(data, overlapping=True)
        return found

    def without(self, numbers: frozenset[int]) -> Callable[[bytes], list[Hit]]:
        """A `hits` without these literals, for large blocks: it takes 40 ms to make, and is then five times as fast."""
        kept = {number: literal for number, literal in enumerate(self.literals) if number not in numbers}
        if (wide := _wide_scan(kept)) is not None:
            return wide
        return lambda data: [hit for hit in self.hits(data) if hit[0] in kept]


def _wide_scan(literals: Mapping[int, bytes]) -> Callable[[bytes], list[Hit]] | None:
    """A scan that uses the wide registers of the CPU. An automaton that takes the bytes one by one, as in the other library and
    in ripgrep, needs twice the time. `None` on a machine that the library does not support. For one thread at a time."""
    try:
        import hyperscan  # 16 ms and 2 MB, which a small log does without
    except ImportError:
        return None
    if not literals:
        return lambda data: []
    numbers, texts = list(literals), list(literals.values())
    lengths = {number: len(literal) for number, literal in literals.items()}
    database = hyperscan.Database()
    database.compile(expressions=texts, ids=numbers, elements=len(texts), flags=[0] * len(texts), literal=True)

    def find(data: bytes) -> list[Hit]:
        found: list[Hit] = []
        add = found.append

        def take(number: int, _: int, end: int, flags: int, context: object) -> None:
            add((number, end - lengths[number], end))

        database.scan(data, match_event_handler=take)
        found.sort(key=_END_THEN_START)  # hits that end together come in no order
        return found

    return find


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
