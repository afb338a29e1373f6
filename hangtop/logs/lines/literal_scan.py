"""One pass over the bytes for all literals at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter

from ahocorasick_rs import BytesAhoCorasick

Hit = tuple[int, int, int]
"""Number of the literal, first byte, end."""

_END_THEN_START = itemgetter(2, 1)


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
