"""One line of what an action does, with the time it is said at."""

from __future__ import annotations

from hangtop import clock
from hangtop.records.plan import Step, StepKind, Target


def step(kind: StepKind, text: str, target: Target | None = None) -> Step:
    """Now. With a target also its pid and start time, for the action log."""
    pid, ticks = (None, None) if target is None else (target.pid, target.start_ticks)
    return Step(clock.now(), kind, text, pid, ticks)
