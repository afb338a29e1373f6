"""A cache of one answer for pure functions of frozen state: the same argument objects (`is`) give the same answer.

An answer that equals the previous one is replaced by it, so functions memoized on that answer need not run again either."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

PLAIN = (int, float, str, slice)


def memoized(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Keeps one answer: many parts of the screen ask for the same value at one moment, and again at each key.

    Answers must not be changed. Numbers and texts are compared by value; other arguments that are equal but not identical only
    cost time.
    """
    last: tuple[tuple[object, ...], Answer] | None = None

    @wraps(function)
    def answer(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        nonlocal last
        given, known = (*args, *kwargs, *kwargs.values()), last
        if known is None or len(known[0]) != len(given) or not all(map(_same, known[0], given)):
            fresh = function(*args, **kwargs)
            last = known = (given, known[1] if known is not None and known[1] == fresh else fresh)
        return known[1]

    return answer


def _same(known: object, given: object) -> bool:
    return known is given or (isinstance(known, PLAIN) and known == given)
