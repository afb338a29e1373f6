"""The filter of the stacks page, as typed: `3`, `0-2,5`, `thread:loader`, `load_shard`, or several of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from hangtop.records.stack import Stack
from hangtop.stacks.stack_classes import only

RANKS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
THREAD = "thread:"
MOST_RANKS = 100_000


class StackChoice(Struct, frozen=True):
    """Ranks, part of a thread name, part of a function name; `None` means all."""

    ranks: frozenset[int] | None = None
    thread: str | None = None
    function: str | None = None

    def of(self, stacks: Iterable[Stack]) -> tuple[Stack, ...]:
        return only(stacks, self.ranks, self.thread, self.function)


def choice(typed: str) -> StackChoice:
    """Numbers and ranges are ranks, `thread:NAME` is a thread, any other word a function."""
    ranks: set[int] = set()
    thread = function = None
    for word in typed.split():
        if RANKS.fullmatch(word):
            ranks |= _ranks(word)
        elif word.startswith(THREAD) and word != THREAD:
            thread = word.removeprefix(THREAD)
        else:
            function = word
    return StackChoice(frozenset(ranks) or None, thread, function)


def _ranks(word: str) -> set[int]:
    """`0-2,5`."""
    found: set[int] = set()
    for part in word.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), min(int(last or first), int(first) + MOST_RANKS) + 1))
    return found
