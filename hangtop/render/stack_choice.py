"""Which stacks to show, as a person types it: `3`, `0-2,5`, `thread:loader`, `load_shard`, or several of these. Pure."""

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
    """`ranks`, part of a thread's name, part of a function's; `None` means all."""

    ranks: frozenset[int] | None = None
    thread: str | None = None
    function: str | None = None

    def of(self, stacks: Iterable[Stack]) -> tuple[Stack, ...]:
        return only(stacks, self.ranks, self.thread, self.function)


def choice(typed: str) -> StackChoice:
    """What these words choose: numbers and ranges are ranks, `thread:NAME` a thread, any other word a function."""
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
