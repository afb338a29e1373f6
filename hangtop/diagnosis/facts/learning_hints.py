"""Signs that a run computes and learns nothing: the loss stands still to the last printed digit, or its gradient is 0. Pure.

Hints, never more: what a run optimises is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hangtop.common.text import metric
from hangtop.records.log import Progress
from hangtop.records.verdict import Evidence

LEAST_ALIKE = 60
"""The same loss in so many step lines, half of what is kept. A mean over an epoch, as some programs print it, moves slowly, and
so does a loss of few digits."""
LEAST_DIGITS = 4
LEAST_ZEROS = 20
"""A gradient of 0 in so many step lines. One step in which all rewards are alike has none either (GRPO), and so may a few."""


def learning_hints(progress: Progress) -> tuple[Evidence, ...]:
    """At most one line."""
    line = next(_lines(progress), None)
    return () if line is None else (Evidence("log", line, page="not_learning"),)


def _lines(progress: Progress) -> Iterator[str]:
    gradient, loss, reward = (progress.history.get(name, ()) for name in ("grad_norm", "loss", "reward"))
    zeros = _alike(gradient)
    if gradient and gradient[-1] == 0 and zeros >= LEAST_ZEROS:
        yield f"the gradient norm is 0 in the last {zeros} step lines: no weight is updated"
    if loss and _is_exact(loss[-1]) and (alike := _alike(loss)) >= LEAST_ALIKE:
        yield f"the loss is {metric(loss[-1])} in each of the last {alike} step lines: it does not move"
    moves = len(gradient) >= LEAST_ALIKE and bool(gradient[-1])
    if moves and reward and _is_exact(reward[-1]) and (alike := _alike(reward)) >= LEAST_ALIKE:
        yield (
            f"the reward is {metric(reward[-1])} in each of the last {alike} step lines though the gradient is not 0: "
            "the engine may still generate with old weights"
        )


def _alike(values: Sequence[float | None]) -> int:
    """How many of the newest values are the same number."""
    last = values[-1] if values else None
    if last is None:
        return 0
    return next((place for place, value in enumerate(reversed(values)) if value != last), len(values))


def _is_exact(value: float | None) -> bool:
    """Whether it is told with so many digits that a loss which moves would show it."""
    if value is None or not math.isfinite(value) or value == 0:
        return False
    return len(f"{abs(value):.12g}".partition("e")[0].replace(".", "").strip("0")) >= LEAST_DIGITS
