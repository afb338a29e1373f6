"""What is usual among the others: a member is measured against its peers, and never against itself. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence


def median(values: Iterable[float]) -> float:
    """Of one value at least. As `statistics` has it, which takes 2 ms to load."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def median_of_others(ordered: Sequence[float], own: float) -> float:
    """The median of all values but one's own, of two values at least; `ordered` holds one's own too.

    With a thousand ranks each second, not by sorting a thousand times.
    """
    at, others = bisect_left(ordered, own), len(ordered) - 1

    def other(index: int) -> float:
        return ordered[index if index < at else index + 1]

    return (other((others - 1) // 2) + other(others // 2)) / 2
