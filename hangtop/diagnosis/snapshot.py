"""What the rules look at: the state at one moment, with what every rule needs of it worked out once."""

from __future__ import annotations

from msgspec import Struct

from hangtop.common.text import moment
from hangtop.diagnosis.facts.silence_limits import Limit, current_stage, limit_of, stage_plan
from hangtop.diagnosis.members.parallel_groups import by_groups, stage_of
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.diagnosis.status.gpu_wait import spinning
from hangtop.diagnosis.status.majority import with_majority
from hangtop.diagnosis.status.member_status import MemberStatus, member_statuses
from hangtop.records.log import Finding, LogReading, StageEvent, StagePlan
from hangtop.records.process import ProcessReading
from hangtop.records.rank import Rank
from hangtop.records.verdict import StageNow
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

LOOP_LIMITS = 2.0
LOOP_AT_LEAST_S = 90.0
"""A rank that burns a core in one place, and may as well compute, is given this many limits of silence, and no less than this."""


class Snapshot(Struct, frozen=True):
    """One look at the run. `silence_s`: seconds since the last byte of any log, `None` when no log was read yet.

    `patient`: a member that may work or loop for ever is taken to work, as long as the silence is young.
    """

    state: RunState
    spec: WatchSpec
    now: float
    log: LogReading
    limit: Limit
    silence_s: float | None
    stage: StageEvent | None
    plan: StagePlan | None
    ranks: tuple[Rank, ...]
    members: tuple[MemberStatus, ...] = ()
    patient: bool = True

    @property
    def quiet_s(self) -> float:
        """The silence after which evidence is asked for. A stage's own ceiling explains silence only where there is none."""
        return _quiet_s(self.spec, self.log, self.plan, self.limit)

    @property
    def is_quiet(self) -> bool:
        return self.silence_s is not None and self.silence_s > self.quiet_s

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes whose stacks tell: the members, their parents, which may be members, and the data workers below them."""
        members = tuple(member.pid for member in self.members if member.pid is not None and member.status != "gone")
        parents = {member.process.ppid for member in self.members if member.process is not None}
        members += tuple(
            process.pid
            for process in (self.procs.processes if self.procs else ())
            if process.pid in parents and process.role == "other"
        )
        workers = (
            () if self.procs is None else tuple(process.pid for process in self.procs.processes if process.role == "data worker")
        )
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
    def silent_since(self) -> str:
        """When the last output came, as a moment: verdicts name no ages, so that they stand still."""
        return moment(self.log.last_output_at, self.now)

    @property
    def last_output(self) -> str:
        """The last line and its moment, as evidence."""
        if self.log.last_output_at is None:
            return "no output at all"
        return f"last output {self.silent_since}: {self.log.last_line or ''}"

    @property
    def where(self) -> str:
        """The stage in words, for sentences."""
        return "before its first stage" if self.stage is None else f"in {self.stage.title}"


def take_snapshot(state: RunState, spec: WatchSpec, now: float) -> Snapshot:
    """The case of this moment."""
    log = state.log or LogReading(files=())
    ranks = join_ranks(state)
    stage = current_stage(log, ranks)
    silence_s = None if log.last_output_at is None else max(0.0, now - log.last_output_at)
    limit, plan = limit_of(state, spec, stage), stage_plan(log, stage)
    patience_s = max(LOOP_AT_LEAST_S, LOOP_LIMITS * _quiet_s(spec, log, plan, limit))
    patient = silence_s is None or silence_s <= patience_s
    members = member_statuses(state, ranks, spinning(state, now), patient=patient)
    world = max((rank.world or 0 for rank in ranks), default=0)
    members = by_groups(members)
    if not any(
        stage_of(member.place) for member in members
    ):  # stages stand at different places, and their majority means nothing
        members = with_majority(members, world)
    return Snapshot(state, spec, now, log, limit, silence_s, stage, plan, ranks, members, patient)


def _quiet_s(spec: WatchSpec, log: LogReading, plan: StagePlan | None, limit: Limit) -> float:
    if plan is None or plan.steady:
        return limit.stalled_s
    return spec.stall_s + max((file.slack_s for file in log.files), default=0.0)
