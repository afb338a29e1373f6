"""Inputs that make a careless regex run for minutes: long, repetitive, and almost a match."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from types import FrameType

LENGTH = 100_000
LIMIT_S = 1.0
"""CPU seconds for one search. A sound regex needs at most a tenth; one that starts over at each blank takes half a minute, and
catastrophic backtracking would not end."""


class _TooSlow(Exception):
    pass


def hostile_texts(literals: tuple[str, ...], example: str) -> Iterator[str]:
    """Texts of `LENGTH` characters: one character, words, pairs, and the message's own parts again and again."""
    half = example[: len(example) // 2]
    for piece in ("a", " ", "1", "a ", "1.", "a:", "a=1 ", " - a:1", "'a': ", "/a", "━", "a|", *literals[:6], example, half):
        if piece:
            yield (piece * (LENGTH // len(piece) + 1))[:LENGTH]
    for literal in literals[:2]:
        yield literal + "a" * LENGTH
        yield "a" * LENGTH + literal


def too_slow(pattern: str, literals: tuple[str, ...], example: str) -> str | None:
    """The start of a hostile text for which one search takes more than `LIMIT_S`; `None` if all are quick.

    A timer of CPU time breaks off the search, so this must be called in the main thread.
    """
    regex = re.compile(pattern)
    before = signal.signal(signal.SIGVTALRM, _give_up)
    try:
        for text in hostile_texts(literals, example):
            try:
                signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
                regex.search(text)
            except _TooSlow:
                return text[:60]
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return None


def _give_up(number: int, frame: FrameType | None) -> None:
    raise _TooSlow
