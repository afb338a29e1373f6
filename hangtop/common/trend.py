"""Whether a series of numbers grows all the time, and how fast. Pure.

Kendall's tau (rank correlation with the place, 1938; as a test of a trend Mann, 1945) says whether it grows; the slope is the
median of the slopes between all pairs (Theil, 1950; Sen, 1968): a few long steps move neither.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hangtop.common.median import median

LEAST, MOST = 14, 32
"""Of more points so many are taken, evenly: all pairs of them are compared."""
LEAST_TAU = 0.6
"""Of all pairs 80 in 100 grow: noise over a level has a tau about 0, a single jump in the middle at most 0.5."""
BETTER = 0.7
"""A line has to leave less than this of what two levels leave: what jumped once is no trend."""


class Trend(Struct, frozen=True):
    """`slope`: by unit of the place; `first`, `last`: the line at both ends."""

    slope: float
    first: float
    last: float


def trend_of(points: Sequence[tuple[float, float]]) -> Trend | None:
    """Of places and values, places ascending; `None` for what does not grow steadily."""
    if len(points) < LEAST:
        return None
    points = [points[at * (len(points) - 1) // (MOST - 1)] for at in range(MOST)] if len(points) > MOST else points
    pairs = [(after[0] - before[0], after[1] - before[1]) for at, before in enumerate(points) for after in points[at + 1 :]]
    rising = [(run, rise) for run, rise in pairs if run > 0]
    if not rising or sum((rise > 0) - (rise < 0) for _, rise in rising) < LEAST_TAU * len(rising):
        return None
    slope = median([rise / run for run, rise in rising])
    start = median([value - slope * place for place, value in points])
    trend = Trend(slope, start + slope * points[0][0], start + slope * points[-1][0])
    line = sum(abs(value - start - slope * place) for place, value in points)
    return trend if line < BETTER * _of_two_levels([value for _, value in points]) else None


def _of_two_levels(values: Sequence[float]) -> float:
    """What the best two levels leave over."""
    return min(_left(values[:at]) + _left(values[at:]) for at in range(1, len(values)))


def _left(values: Sequence[float]) -> float:
    level = median(values)
    return sum(abs(value - level) for value in values)
