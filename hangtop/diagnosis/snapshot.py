"""What the rules look at: the state at one moment, with what every rule needs of it worked out once."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

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
from hangtop.records.verdict import Evidence, StageNow
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

LOOP_LIMITS = 2.0
LOOP_AT_LEAST_S = 90.0
"""A rank that burns a core in one place, and may as well compute, is given this many limits of silence, and no less than this."""
NOT_YET = ProcessReading()


class Snapshot(Struct, frozen=True):
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
    members: tuple[MemberStatus, ...] = ()

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
    def patient(self) -> bool:
        """Whether the silence is so young that a member which may work or loop for ever is taken to work."""
        return self.silence_s is None or self.silence_s <= max(LOOP_AT_LEAST_S, LOOP_LIMITS * self.quiet_s)

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes whose stacks tell: the members, their parents, which may be members, and the data workers below them."""
        members = [member.pid for member in self.members if member.status != "gone"]
        above = {member.process.ppid for member in self.members}
        parents = [process.pid for process in self.procs.processes if process.pid in above and process.role == "other"]
        workers = [process.pid for process in self.procs.processes if process.role == "data worker"]
        return tuple(dict.fromkeys((*members, *parents, *workers)))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found in the attempt that runs now, earliest first."""
        return tuple(finding for finding in self.log.findings if finding.attempt == self.log.attempt)

    @property
    def procs(self) -> ProcessReading:
        """The latest look at the processes; an empty one before the first."""
        return self.state.procs or NOT_YET

    @property
    def pid_of(self) -> dict[int | None, int | None]:
        """By rank."""
        return {rank.rank: rank.pid for rank in self.ranks}

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
    def last_output(self) -> Evidence:
        """The last line and its moment."""
        none = self.log.last_output_at is None
        return Evidence("log", "no output at all" if none else f"last output {self.silent_since}: {self.log.last_line or ''}")

    @property
    def where(self) -> str:
        """The stage in words, for sentences."""
        return "before its first stage" if self.stage is None else f"in {self.stage.title}"


def take_snapshot(state: RunState, spec: WatchSpec, now: float) -> Snapshot:
    """The run at this moment."""
    log = state.log or LogReading(files=())
    ranks = join_ranks(state)
    stage = current_stage(log, ranks)
    silence_s = None if log.last_output_at is None else max(0.0, now - log.last_output_at)
    limit, plan = limit_of(state, spec, stage), stage_plan(log, stage)
    snapshot = Snapshot(state, spec, now, log, limit, silence_s, stage, plan, ranks)
    members = by_groups(member_statuses(state, ranks, spinning(state, now), patient=snapshot.patient))
    if not any(stage_of(member.place) for member in members):  # stages stand at different places: their majority means nothing
        members = with_majority(members, max((rank.world or 0 for rank in ranks), default=0))
    return replace(snapshot, members=members)
