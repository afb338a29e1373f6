"""One pass over the bytes for all literals at once: which of them occur, and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

try:
    import ahocorasick_rs
except ImportError:  # no wheel for this machine: about ten times slower
    ahocorasick_rs = None  # type: ignore[assignment]

Hit = tuple[int, int, int]
"""Number of the literal, first byte, end."""

_END_THEN_START = itemgetter(2, 1)


class Scanner:
    """Finds all occurrences of a set of literals, overlapping ones included, and knows who wants each.

    `owners[i]`: what was given for literal number `i`.
    """

    def __init__(self, wanted: Mapping[str, Sequence[Any]]) -> None:
        self.literals = tuple(literal.encode() for literal in wanted)
        self.owners: tuple[tuple[Any, ...], ...] = tuple(tuple(owners) for owners in wanted.values())
        self._slow = ahocorasick_rs is None
        self._find = self._finder(self.literals)

    def _finder(self, literals: Sequence[bytes]) -> Callable[[bytes], list[Hit]]:
        if self._slow:
            return _PlainScan(literals).find
        automaton = ahocorasick_rs.BytesAhoCorasick(list(literals))
        return lambda data: automaton.find_matches_as_indexes(data, overlapping=True)

    def without(self, numbers: frozenset[int]) -> Callable[[bytes], list[Hit]]:
        """`hits` for all literals but these, with the same numbers: for much at once. It takes 40 ms to make, and is then five
        times as fast."""
        kept = {number: literal for number, literal in enumerate(self.literals) if number not in numbers}
        if (wide := _wide_scan(kept)) is not None:
            return wide
        return lambda data: [hit for hit in self.hits(data) if hit[0] in kept]

    def hits(self, data: bytes) -> list[Hit]:
        """All occurrences, in the order of their ends; of those that end together, the longest first."""
        found: list[Hit] = self._find(data)
        return found


def _wide_scan(literals: Mapping[int, bytes]) -> Callable[[bytes], list[Hit]] | None:
    """All of them with the CPU's wide registers, many bytes at a step: an automaton that takes them one by one, as the other
    library has it and ripgrep, needs twice the time. `None` where there is no wheel of it. For one thread at a time."""
    try:
        import hyperscan  # 16 ms and 2 MB, that a small log can do without
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
        found.sort(key=_END_THEN_START)  # what ends together comes in no order
        return found

    return find


class _PlainScan:
    """The same with what Python brings: a regex that tries, at each byte, a tree of the literals' common beginnings."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._numbers = {literal: number for number, literal in enumerate(literals)}
        self._lengths = [len(literal) for literal in literals]
        # `(?=…)` finds the longest literal at each byte; the shorter ones that it begins with are added here.
        self._nested = {
            literal: tuple(self._numbers[literal[:end]] for end in range(1, len(literal) + 1) if literal[:end] in self._numbers)
            for literal in literals
        }
        self._pattern = re.compile(b"(?=(" + _tree(literals) + b"))") if literals else None

    def find(self, data: bytes) -> list[Hit]:
        if self._pattern is None:
            return []
        found = [
            (number, match.start(), match.start() + self._lengths[number])
            for match in self._pattern.finditer(data)
            for number in self._nested[match[1]]
        ]
        return sorted(found, key=lambda hit: (hit[2], hit[1]))


def _tree(literals: Iterable[bytes]) -> bytes:
    """A regex for any of the literals that shares their common beginnings; the longest one is tried first."""
    groups: dict[bytes, list[bytes]] = {}
    ends = False
    for literal in literals:
        if literal:
            groups.setdefault(literal[:1], []).append(literal[1:])
        else:
            ends = True
    branches = b"|".join(re.escape(first) + _tree(tails) for first, tails in groups.items())
    if not branches:
        return b""
    return b"(?:" + branches + (b"|)" if ends else b")")
