"""Whether a restarted run has passed the place where the old one hung. Pure: time is an argument.

A run may hang again one step later. So it has passed only when it has reached the next step (or stage), then went on for as long
as that step took, and printed something meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hangtop.records.plan import Watch

LEAST_S = 2.0
"""Two polls: shorter steps cannot be told apart."""

Standing = Literal["before", "beyond", "passed"]


class RestartProgress:
    """How far the new run is (`standing`). `settle_s`: how long it must go on beyond the place."""

    def __init__(self, watch: Watch, now: float) -> None:
        self.standing: Standing = "before"
        self._watch = watch
        self._last: tuple[int, int | None] = (0, None)
        self._moved_at = now
        self._beyond_at = now
        self.settle_s = 0.0

    def look(self, now: float, entered: Sequence[str], step: int | None, last_output_at: float | None) -> Standing:
        """What is known at `now` (unix time). `entered`: ids of the stages that the new run entered, in their order; `step`: the
        last one that it told; `last_output_at`: unix time of the last byte."""
        if self.standing == "before" and beyond(self._watch, entered, step):
            self.standing, self._beyond_at = "beyond", now
            self.settle_s = max(LEAST_S, now - self._moved_at)
        if (len(entered), step) != self._last:
            self._last, self._moved_at = (len(entered), step), now
        speaks = last_output_at is not None and last_output_at > self._beyond_at
        if self.standing == "beyond" and speaks and now - self._beyond_at >= self.settle_s:
            self.standing = "passed"
        return self.standing


def beyond(watch: Watch, entered: Sequence[str], step: int | None) -> bool:
    """Whether the next step was reached; if the old run printed no steps, whether the next stage was entered."""
    if watch.step is not None:
        return step is not None and step > watch.step
    if not watch.stage:
        return bool(entered) or step is not None
    place = {id_: number for number, id_ in enumerate(watch.order)}
    limit = place.get(watch.stage, len(place))
    if any(place.get(id_, -1) > limit for id_ in entered):
        return True
    if watch.stage not in entered:
        return False
    return step is not None or any(id_ != watch.stage for id_ in entered[entered.index(watch.stage) + 1 :])
