"""How long may it be silent? The limit of the stage the run is in, learned from the run where it can be."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hangtop.diagnosis.members.writer_presence import nobody_writes
from hangtop.records.log import LogReading, StageEvent, StagePlan
from hangtop.records.rank import Rank
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

FINISH = "finish"
"""The stage of a run, or of a rank, that has said it is done."""
CEILINGS_FOR_S = 120.0
"""The stall limit for which profiles write the ceilings of their stages."""
MIN_STEPS = 4
"""Below this many step gaps a percentile says nothing."""


class Limit(Struct, frozen=True):
    """Seconds of silence. Up to `slow_s` is normal here; beyond `stalled_s` nothing explains it any more."""

    slow_s: float
    stalled_s: float


def current_stage(log: LogReading, ranks: Sequence[Rank]) -> StageEvent | None:
    """The latest stage of the attempt that runs now. When only some ranks have reached the end, it is the stage of the ranks
    that go on."""
    latest = (event for event in reversed(log.stages) if event.attempt == log.attempt)
    return next((event for event in latest if event.id != FINISH or not _others_go_on(ranks)), None)


def _others_go_on(ranks: Sequence[Rank]) -> bool:
    """Who said that it finished has left, or was never here; others live, did not say it, and are before their last step."""
    living = [rank for rank in ranks if rank.state is not None and not rank.ended]
    if any(rank.stage == FINISH for rank in living) or all(rank.stage != FINISH for rank in ranks):
        return False
    return any(rank.step is not None and (rank.total is None or rank.step < rank.total) for rank in living)


def stage_plan(log: LogReading, stage: StageEvent | None) -> StagePlan | None:
    return None if stage is None else next((plan for plan in log.plan if plan.id == stage.id), None)


def limit_of(state: RunState, spec: WatchSpec, stage: StageEvent | None) -> Limit:
    """The limit now, in this stage. A stage or a pace explains the silence of who is at work: where nobody is here to write, the
    stall limit alone counts.

    A stage with a ceiling of its own is slow after `slow_after_s`, the stall limit at the latest, and stalled after
    `stalled_after_s`; both scale with the stall limit. A steady stage follows the run's own pace:
    max(stall limit, 3 x p95 of the time between two steps that it tells); NVRx takes 5 x the longest beat, DLRover a fixed
    10 min. A network file system adds its slack, for the size of a file is cached there.
    """
    limit = _of_stage(state.log, spec, stage) if state.log is not None else Limit(spec.stall_s, spec.stall_s)
    return Limit(min(limit.slow_s, spec.stall_s), min(limit.stalled_s, spec.stall_s)) if nobody_writes(state) else limit


def _of_stage(log: LogReading, spec: WatchSpec, stage: StageEvent | None) -> Limit:
    slack_s = max((file.slack_s for file in log.files), default=0.0)
    plan = stage_plan(log, stage)
    if plan is None or plan.steady or plan.stalled_after_s is None:
        paced_s = 3.0 * (log.pace.p95_s or 0.0) * log.pace.every if log.pace.steps >= MIN_STEPS else 0.0
        limit_s = max(spec.stall_s, paced_s) + slack_s
        return Limit(limit_s, limit_s)
    scale = spec.stall_s / CEILINGS_FOR_S
    slow_s = spec.stall_s if plan.slow_after_s is None else min(spec.stall_s, plan.slow_after_s * scale)
    return Limit(slow_s + slack_s, max(plan.stalled_after_s * scale, slow_s) + slack_s)
