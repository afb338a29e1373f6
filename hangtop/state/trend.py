"""Steady growth of a number over the watch, the sign of a leak."""

from __future__ import annotations

from hangtop.records.samples import Samples, points

LEAST_SPAN_S = 600.0
LEAST_POINTS = 12
WARM_UP_PART = 0.25
"""This first part of the watch is left out: a run fills memory when it starts, and that is no leak."""
LEAST_FIT = 0.8


def growth(samples: Samples, least: float) -> float | None:
    """The growth per hour by least squares, if the samples grow steadily by more than `least` in all; `None` if they are too few,
    level or falling, or jump once.

    The line must fit: a single jump in the middle has an r² of 0.75.
    """
    if len(samples.means) < LEAST_POINTS or (samples.means[-1] or 0.0) <= (samples.means[0] or 0.0):
        return None
    known = points(samples)
    known = known[int(len(known) * WARM_UP_PART) :]
    span_s = known[-1][0] - known[0][0] if known else 0.0
    if len(known) < LEAST_POINTS or span_s < LEAST_SPAN_S:
        return None
    slope, fit = _line(known)
    return slope * 3600 if slope * span_s > least and fit >= LEAST_FIT else None


def _line(known: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    """Slope and r² by least squares."""
    mean_at = sum(at for at, _ in known) / len(known)
    mean = sum(value for _, value in known) / len(known)
    across = sum((at - mean_at) * (value - mean) for at, value in known)
    along = sum((at - mean_at) ** 2 for at, _ in known)
    around = sum((value - mean) ** 2 for _, value in known)
    return (across / along, across**2 / (along * around)) if along and around else (0.0, 0.0)
