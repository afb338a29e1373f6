"""What the rules look at: the state at one moment, with what every rule needs of it worked out once."""

from __future__ import annotations

from msgspec import Struct

from hangtop.diagnosis.limits import Limit, current_stage, limit_of, stage_plan
from hangtop.diagnosis.standing import Standing, standings
from hangtop.model import RunState
from hangtop.ranks import Rank, join
from hangtop.records.log import Finding, LogReading, StageEvent, StagePlan
from hangtop.records.process import ProcessReading
from hangtop.records.verdict import StageNow
from hangtop.spec import WatchSpec


class Case(Struct, frozen=True):
    """One look at the run. `silence_s`: seconds since the last byte of any log, `None` when no log was read yet."""

    state: RunState
    spec: WatchSpec
    now: float
    log: LogReading
    limit: Limit
    silence_s: float | None
    stage: StageEvent | None
    plan: StagePlan | None
    ranks: tuple[Rank, ...]
    standings: tuple[Standing, ...] = ()

    @property
    def quiet_s(self) -> float:
        """The silence after which evidence is asked for. A stage's own ceiling explains silence only where there is none."""
        if self.plan is None or self.plan.steady:
            return self.limit.stalled_s
        return self.spec.stall_s + max((file.slack_s for file in self.log.files), default=0.0)

    @property
    def is_quiet(self) -> bool:
        return self.silence_s is not None and self.silence_s > self.quiet_s

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes whose stacks tell: the members, then the data workers below them."""
        members = tuple(one.pid for one in self.standings if one.pid is not None and one.how != "gone")
        workers = () if self.procs is None else tuple(one.pid for one in self.procs.processes if one.role == "data worker")
        return tuple(dict.fromkeys(members + workers))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found in the attempt that runs now, earliest first."""
        return tuple(finding for finding in self.log.findings if finding.attempt == self.log.attempt)

    @property
    def procs(self) -> ProcessReading | None:
        return self.state.procs

    @property
    def stage_now(self) -> StageNow | None:
        if self.stage is None:
            return None
        since_s = None if self.stage.at is None else max(0.0, self.now - self.stage.at)
        return StageNow(self.stage.id, self.stage.title, since_s, self.limit.stalled_s)

    @property
    def where(self) -> str:
        """The stage in words, for sentences."""
        return "before its first stage" if self.stage is None else f"in {self.stage.title}"


def look(state: RunState, spec: WatchSpec, now: float) -> Case:
    """The case of this moment."""
    log = state.log or LogReading(files=())
    stage = current_stage(log)
    silence_s = None if log.last_output_at is None else max(0.0, now - log.last_output_at)
    limit = limit_of(state, spec)
    ranks = join(state)
    return Case(state, spec, now, log, limit, silence_s, stage, stage_plan(log, stage), ranks, standings(state, ranks))
