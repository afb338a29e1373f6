"""Where the time of a step goes, as the run's own log says, and where it went before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

Part = Literal[
    "data", "forward", "backward", "training", "optimizer", "sync", "save", "generation", "reward", "logprobs", "teacher",
    "evaluation", "other",
]  # fmt: skip
"""A part of a step. `training`: forward and backward told as one. `logprobs`: what models say of the text that was generated."""


NEAR_PART = 0.01
"""Steps that lie this near together, as a part of the count, are one place."""


class Was(Struct, frozen=True, omit_defaults=True):
    """The level that a number had before it changed for good: its median `value`, until this step or, where the count began again
    since, until this moment (unix time). `about`: steps between that one and the next known one were not looked at."""

    value: float
    until_step: int | None = None
    until_at: float | None = None
    about: bool = False


def until(value: float, places: Sequence[tuple[float | None, float | None]]) -> Was:
    """`places`: step and time of the last one at this level, and of those at the next. The step is told where no count began
    again since."""
    steps = [-1.0 if step is None else step for step, _ in places]
    if steps[0] < 0 or any(after < step for step, after in pairwise(steps)):
        return Was(value, until_at=places[0][1])
    return Was(value, int(steps[0]), places[0][1], about=steps[1] - steps[0] > 1 + steps[0] * NEAR_PART)


class Growth(Struct, frozen=True):
    """A step takes longer from step to step: `by_step_s` seconds each time, from `first_s` to `last_s`, since step `since`."""

    by_step_s: float
    first_s: float
    last_s: float
    since: int


class Change(Struct, frozen=True):
    """A number that the step lines tell, of late and before."""

    was: float
    now: float
    until: Was | None = None


class PartTime(Struct, frozen=True, omit_defaults=True):
    """One part: its share of a step (0…1) and its seconds, medians of late. `was`: its share before; `was_s`: its
    seconds then. `of_time`: its share of all the time since, the longest one left out: what comes in bursts has no median."""

    part: Part
    share: float
    part_s: float
    was: Was | None = None
    was_s: float | None = None
    of_time: float = 0.0


class SlowRank(Struct, frozen=True):
    """A rank that needs longer than its peers for what it does alone, as each of them prints it: `own_s` of a step where the
    median of the others is `others_s`; most of that in this part."""

    rank: int
    own_s: float
    others_s: float
    part: Part


class StepTimes(Struct, frozen=True, omit_defaults=True):
    """`parts`: the longest first; empty where the log tells none. `told`: over how many steps. `step_s`: seconds of a step as the
    same lines tell it, the median of late. `tokens_s`: tokens that the engine generates in a second while it works, as it reports
    them; `tokens_were`: before that changed. `slow_rank`: the slowest, where it stands out."""

    parts: tuple[PartTime, ...] = ()
    told: int = 0
    tokens_s: float | None = None
    tokens_were: Was | None = None
    step_s: float | None = None
    slow_rank: SlowRank | None = None


class Peaks(Struct, frozen=True, omit_defaults=True):
    """`usual_s`: the median of all steps, `peak_s`: of the long ones. `lost`: the part of all time (0…1) that these take
    beyond the usual. `every`: each so many steps; `None` where they come without a period. `spans`: begin and end of the
    last ones (unix time)."""

    usual_s: float
    peak_s: float
    lost: float
    every: int | None = None
    spans: tuple[tuple[float, float], ...] = ()
