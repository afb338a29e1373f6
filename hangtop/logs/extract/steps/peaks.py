"""Steps that take much longer than their neighbours, again and again: how often, and how much of the time that costs. Pure.

A step is a peak when it lies beyond the median by many times the median absolute deviation (Hampel's identifier, 1974; scaled by
1.4826 to a standard deviation). They come by a period where most distances between them are the same number of steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from hangtop.common.median import median
from hangtop.records.step_times import Peaks

LEAST_STEPS, LEAST_PEAKS = 20, 4
"""Fewer are a first step, an evaluation, a hiccup."""
BEYOND, FACTOR = 6.0, 1.3
"""So many deviations, and at least this many times the median: times that hardly vary have a tiny deviation."""
MOST_PEAKS = 0.4
"""Where more steps are long, long is what steps are."""
SAME_DISTANCE = 0.6
"""So many distances between peaks are that of the period; one that was left out makes one of twice the length."""
MOSTLY_WHOLE = 0.95
TICKS = 2.0
"""A gap by a clock of whole seconds may be a tick too long, and the one beside it a tick too short."""
TO_SIGMA = 1.4826


class StepGap(Struct, frozen=True):
    """Seconds a step until this step, over how many; `at`: unix time of its line."""

    step: float
    step_s: float
    steps: float
    at: float | None = None


LAST_SPANS = 16


def peaks_of(gaps: Sequence[StepGap]) -> Peaks | None:
    """`None` where hardly any step stands out."""
    if len(gaps) < LEAST_STEPS:
        return None
    usual_s = median([gap.step_s for gap in gaps])
    sigma_s = TO_SIGMA * median([abs(gap.step_s - usual_s) for gap in gaps])
    beyond_s, tick_s = BEYOND * sigma_s, TICKS * _tick_s(gaps)
    high = [gap for gap in gaps if gap.step_s > max(FACTOR * usual_s, usual_s + beyond_s, usual_s + tick_s / max(gap.steps, 1.0))]
    if not LEAST_PEAKS <= len(high) <= MOST_PEAKS * len(gaps):
        return None
    whole_s = sum(gap.step_s * gap.steps for gap in gaps)
    lost_s = sum((gap.step_s - usual_s) * gap.steps for gap in high)
    spans = tuple((gap.at - gap.step_s * gap.steps, gap.at) for gap in high[-LAST_SPANS:] if gap.at is not None)
    return Peaks(
        usual_s, median([gap.step_s for gap in high]), lost_s / whole_s, _period(high) if _is_whole(gaps) else None, spans
    )


def _tick_s(gaps: Sequence[StepGap]) -> float:
    """The step of the clock: a second where all gaps are whole seconds."""
    whole = all(abs(gap.step_s * gap.steps - round(gap.step_s * gap.steps)) < 1e-3 for gap in gaps)
    return 1.0 if whole else 0.0


def _is_whole(gaps: Sequence[StepGap]) -> bool:
    """Whether all steps are there: of a log of which samples are read no distance between two steps is known."""
    ((_, times),) = Counter(gap.steps for gap in gaps).most_common(1)
    return times >= MOSTLY_WHOLE * len(gaps)


def _period(peaks: Sequence[StepGap]) -> int | None:
    distances = [int(after.step - before.step) for before, after in pairwise(peaks)]
    ((every, times),) = Counter(distances).most_common(1)
    regular = times + sum(1 for distance in distances if distance == 2 * every)
    return every if every > 1 and regular >= SAME_DISTANCE * len(distances) else None
