"""Medians and quantiles: a rank is compared with the median of the others, never with itself. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence


def median(values: Iterable[float]) -> float:
    """The median of at least one value, as in `statistics`, which takes 2 ms to load."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def quantile(ordered: Sequence[float], part: float) -> float:
    """The value below which this part of at least one sorted values lies, least and greatest included ("inclusive" in
    `statistics`)."""
    place, rest = divmod(part * (len(ordered) - 1), 1)
    below = ordered[int(place)]
    return below + rest * (ordered[min(int(place) + 1, len(ordered) - 1)] - below)


def median_of_others(ordered: Sequence[float], own: float) -> float:
    """The median of at least two sorted values without `own`, which is one of them.

    The values are sorted once for all ranks: this runs for a thousand ranks each second.
    """
    at, others = bisect_left(ordered, own), len(ordered) - 1

    def other(index: int) -> float:
        return ordered[index if index < at else index + 1]

    return (other((others - 1) // 2) + other(others // 2)) / 2
