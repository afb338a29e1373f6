"""Whether a series of numbers changed its level for good, and where. Pure.

The place is that of Pettitt's test (A non-parametric approach to the change-point problem, 1979): ranks, not values, so that a
step with a save or an evaluation in it moves nothing. What it finds counts only where both sides lie apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from hangtop.common.median import median

LEAST_BEFORE, LEAST_SINCE = 8, 6
"""With fewer numbers on a side noise looks like a level: five of six beyond nine tenths of the others come once in 18,000
times."""
MOST_BESIDE = 0.2
"""So many of the numbers since may lie where those before lay; a tenth of those before may lie beyond."""
LATEST = 5


class Shift(Struct, frozen=True):
    """`at`: the place of the first number of the new level. `before`, `now`: the medians of both sides."""

    at: int
    before: float
    now: float


def shift_of(values: Sequence[float]) -> Shift | None:
    """The change that lasts until the end; `None` where there is none, or noise hides it."""
    if len(values) < LEAST_BEFORE + LEAST_SINCE:
        return None
    about = _place(values)
    if about is None:
        return None
    at = _sharpened(values, about)
    before, since = sorted(values[:at]), sorted(values[at:])
    shift = Shift(at, median(before), median(since))
    latest = median(values[-LATEST:])
    lasts = abs(latest - shift.now) < abs(latest - shift.before)
    grew = shift.now > shift.before
    if grew:
        apart = _quantile(since, MOST_BESIDE) > _quantile(before, 0.9)
    else:
        apart = _quantile(since, 1 - MOST_BESIDE) < _quantile(before, 0.1)
    return shift if lasts and apart else None


def _place(values: Sequence[float]) -> int | None:
    """Where the ranks before and after differ most, with enough numbers on each side."""
    count = len(values)
    ranks = _ranks(values)
    total, best, place = 0.0, 0.0, None
    for index in range(count - LEAST_SINCE):
        total += ranks[index]
        statistic = abs(2 * total - (index + 1) * (count + 1))
        if index + 1 >= LEAST_BEFORE and statistic > best:
            best, place = statistic, index + 1
    return place


def _sharpened(values: Sequence[float], about: int) -> int:
    """Where the fewest numbers lie on the wrong side of the middle between both levels: where one level lasted longer, the ranks
    alone are some places off."""
    low, high = median(values[:about]), median(values[about:])
    wrong = [(value > (low + high) / 2) == (high > low) for value in values]  # before the change
    moved_wrong = list(accumulate((1 if each else -1 for each in wrong), initial=0))
    return min(range(LEAST_BEFORE, len(values) - LEAST_SINCE + 1), key=moved_wrong.__getitem__)


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1 on; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for place in order[begin:end]:
            ranks[place] = (begin + 1 + end) / 2
        begin = end
    return ranks


def _quantile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
