"""How long may it be silent? The limit of the stage the run is in, learned from the run where it can be."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hangtop.diagnosis.members.writer_presence import nobody_writes
from hangtop.logs.extract.wait_reports import NO_TOKEN
from hangtop.records.log import LogReading, StageEvent, StagePlan
from hangtop.records.rank import Rank
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

FINISH = "finish"
"""The stage of a run, or of a rank, that has said it is done."""
CEILINGS_FOR_S = 120.0
"""The stall limit for which profiles write the ceilings of their stages."""
WORK_S = 900.0
"""For so long work explains silence, of which only its name is known: as long as the profiles give to the load of a model."""
TOLD = 1.5
"""Work takes somewhat longer than a line says beforehand."""
NO_TOKEN_S = 300.0
"""For so long vLLM itself lets an engine make nothing (vllm/envs.py, VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS)."""
LIKE_BEFORE = 2.0
"""What is as long as twice a pause before is of its kind."""
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
    limit = _explained(state.log, spec, stage) if state.log is not None else Limit(spec.stall_s, spec.stall_s)
    return Limit(min(limit.slow_s, spec.stall_s), min(limit.stalled_s, spec.stall_s)) if nobody_writes(state) else limit


def _explained(log: LogReading, spec: WatchSpec, stage: StageEvent | None) -> Limit:
    """The limit of the stage; a longer one where the run's last words name work, or where such words were followed by silences
    as long before."""
    limit, since = _of_stage(log, spec, stage), log.moved_at
    if since is None:
        return limit
    if since != log.last_output_at and NO_TOKEN.search(log.repeats):  # its own word that nothing is made: no stage explains it
        known_s = max(_paced_s(log), (log.paused_until or since) - since)  # so long such pauses took before
        return Limit(limit.slow_s, min(limit.stalled_s, max(NO_TOKEN_S * spec.stall_s / CEILINGS_FOR_S, known_s)))
    until = max(log.paused_until or since, work_until(log, spec) or since)
    first_s = 0.0 if log.pace.steps else min(LIKE_BEFORE * (log.longest_silence_s or 0.0), WORK_S * spec.stall_s / CEILINGS_FOR_S)
    return Limit(limit.slow_s, max(limit.stalled_s, until - since, first_s))


def _paced_s(log: LogReading) -> float:
    """What the run's own steps explain. Of the first few each may be the first of its kind, so that the longest counts, and what
    a bar says of its pace."""
    pace = log.pace
    if pace.steps >= MIN_STEPS:
        return 3.0 * (pace.p95_s or 0.0) * pace.every
    told_s = max(pace.longest_s or 0.0, log.progress.step_s or 0.0)
    return LIKE_BEFORE * told_s * pace.every


def work_until(log: LogReading, spec: WatchSpec) -> float | None:
    """Until when the work that the run named last explains that it says nothing."""
    if log.work is None or log.work.at is None:
        return None
    return log.work.at + max(WORK_S * spec.stall_s / CEILINGS_FOR_S, TOLD * log.work.told_s)


def _of_stage(log: LogReading, spec: WatchSpec, stage: StageEvent | None) -> Limit:
    slack_s = max((file.slack_s for file in log.files), default=0.0)
    plan = stage_plan(log, stage)
    if plan is None or plan.steady or plan.stalled_after_s is None:
        paced_s = _paced_s(log)
        limit_s = max(spec.stall_s, paced_s) + slack_s
        return Limit(limit_s, limit_s)
    scale = spec.stall_s / CEILINGS_FOR_S
    slow_s = spec.stall_s if plan.slow_after_s is None else min(spec.stall_s, plan.slow_after_s * scale)
    return Limit(slow_s + slack_s, max(plan.stalled_after_s * scale, slow_s) + slack_s)
