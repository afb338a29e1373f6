"""Parts that take more of a step than they do in runs that are well, by the run's own times: slow from the start, so that its
past shows nothing. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from hangtop.common.text import pace
from hangtop.diagnosis.facts.step_time_evidence import LEAST_STEP_S, PAGES, WORDS, percent
from hangtop.records.step_times import Part, PartTime, StepTimes
from hangtop.records.verdict import Evidence

HEAVY: Mapping[Part, float] = {
    "data": 0.3,
    "optimizer": 0.35,
    "sync": 0.4,
    "save": 0.3,
    "reward": 0.4,
    "teacher": 0.6,
    "logprobs": 0.5,
    "generation": 0.8,
    "training": 0.65,
}
"""Shares of a step (0…1). Loading overlaps with computing in a run that is well, so that little of it is seen (PyTorch's profiler
warns of loading from 5 % on, torch_tb_profiler); an optimizer on the GPU takes a few hundredths; gradients and weights travel
beside the computation. Generation is the larger half of a step of RL (verl, performance tuning: rollout), so that it counts only
where hardly anything else is left."""
OF_RL: Collection[Part] = ("training", "logprobs")
"""These are heavy only beside generation: else they are what a step is for."""
LONG_BACKWARD = 4.0
"""It computes two products for each of the forward pass, and with recomputation the forward pass again: 2 to 3 times as long
(PaLM, arXiv:2204.02311, appendix B)."""
IN_BURSTS = 0.5
"""Where the median of a part is less than this much of its share of all the time, most steps go without it."""


def heavy_parts(times: StepTimes, told: Collection[Part] = ()) -> Iterator[Evidence]:
    """The heaviest first, without those that are `told` as grown. A tiny step is a test, not a slow run."""
    step_s = times.step_s or 0.0
    known = {part.part for part in times.parts}
    for part in sorted(times.parts, key=lambda part: -part.of_time):
        if part.part in told or part.of_time < HEAVY.get(part.part, 2.0):
            continue
        if part.part in OF_RL and "generation" not in known:
            continue
        if step_s >= LEAST_STEP_S or _in_bursts(part):
            yield Evidence("log", _line(part, step_s), page=PAGES[part.part])


def long_backward(times: StepTimes) -> Iterator[Evidence]:
    """A backward pass that takes far longer than the forward pass of the same step."""
    told = {part.part: part.part_s for part in times.parts}
    forward_s, backward_s = told.get("forward", 0.0), told.get("backward", 0.0)
    if (times.step_s or 0.0) >= LEAST_STEP_S and 0 < LONG_BACKWARD * forward_s <= backward_s:
        times_as_long, each = f"{backward_s / forward_s:.1f}", f"{pace(backward_s)} and {pace(forward_s)} s"
        line = f"the backward pass takes {times_as_long} times the forward pass ({each}); 2 to 3 are usual"
        yield Evidence("log", line, page="slow_backward")


def _line(part: PartTime, step_s: float) -> str:
    if _in_bursts(part):
        return f"{percent(part.of_time)} of the time is {WORDS[part.part]}, in bursts: most steps do without"
    return f"{percent(part.of_time)} of the step is {WORDS[part.part]} ({pace(part.part_s)} of {pace(step_s)} s)"


def _in_bursts(part: PartTime) -> bool:
    return part.share < IN_BURSTS * part.of_time
