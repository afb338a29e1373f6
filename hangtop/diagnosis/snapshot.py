"""What the rules look at: the state at one moment, with what every rule needs of it worked out once."""

from __future__ import annotations

from textwrap import shorten

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.text import moment
from hangtop.diagnosis.facts.beside_the_run import rest_around
from hangtop.diagnosis.facts.let_go_on import pauser_pids
from hangtop.diagnosis.facts.silence_limits import CEILINGS_FOR_S, MIN_STEPS, WORK_S, Limit, current_stage, limit_of, stage_plan
from hangtop.diagnosis.members.log_copiers import Copier, copier_of, without_copiers
from hangtop.diagnosis.members.parallel_groups import by_groups, stage_of
from hangtop.diagnosis.members.rank_numbering import runs_alike
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.diagnosis.members.sidecars import without_sidecars
from hangtop.diagnosis.status.beat_writers import watch_s, without_writers
from hangtop.diagnosis.status.beside import beside, candidates
from hangtop.diagnosis.status.by_waits import with_pauses, with_waits
from hangtop.diagnosis.status.gpu_wait import spinning
from hangtop.diagnosis.status.handle_wait import with_handles
from hangtop.diagnosis.status.majority import with_majority
from hangtop.diagnosis.status.member_status import MemberStatus, member_statuses
from hangtop.diagnosis.status.one_timer import only_tick
from hangtop.diagnosis.status.owed_message import with_owed_message
from hangtop.diagnosis.status.polling import without_polling
from hangtop.diagnosis.status.ray_calls import at_work_elsewhere, in_question
from hangtop.diagnosis.status.side_threads import without_side_threads
from hangtop.diagnosis.status.twins import as_twins_idle
from hangtop.logs.extract.wait_reports import reports_a_wait
from hangtop.records.log import Finding, LogReading, StageEvent, StagePlan
from hangtop.records.process import ProcessReading
from hangtop.records.rank import Rank
from hangtop.records.stack import listening
from hangtop.records.verdict import Evidence, StageNow
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

LOOP_LIMITS = 2.0
LOOP_AT_LEAST_S = 90.0
"""A rank that burns a core in one place, and may as well compute, is given this many limits of silence, and no less than this."""
LONGEST_BEAT = 70
MOST_ANSWERING = 4
"""Processes beyond the members whose stacks are looked at."""
NOT_YET = ProcessReading()


class Snapshot(Struct, frozen=True):
    """One look at the run. `silence_s`: seconds since any log told anything that no clock could have printed: heartbeats,
    spinners and the same counts again are silence; or since the processes began that have written nothing yet; `None` when no
    log was read yet. `untold_s`: since it told anything new at all; `unwritten_s`: since its last byte. `aside`: members that
    idle, or wait for a call of Ray, while others are at a call: nothing hangs on them. `beside`: processes that are no ranks and
    take part all the same, such as a parameter server.
    `ticking`: pids of members in an event loop of which only a monitor goes on. `copier`: the log is its copy.
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
    aside: tuple[MemberStatus, ...] = ()
    untold_s: float | None = None
    unwritten_s: float | None = None
    ticking: frozenset[int] = frozenset()
    copier: Copier | None = None

    @property
    def only_beats(self) -> bool:
        """Whether lines still come, and nothing but these says that the run stands: not the pace of its own steps, for it told
        none, or the lines are numbered. Then a verdict needs members that stand, or the run's own word that it waits."""
        if self.silence_s is None or self.unwritten_s is None or self.unwritten_s > self.limit.slow_s:
            return False
        if reports_a_wait(self.beats):
            return False
        paced = self.log.pace.steps >= MIN_STEPS
        return not paced or (self.untold_s or 0.0) <= self.limit.stalled_s < self.silence_s

    @property
    def waits_overdue(self) -> bool:
        """Whether the run has said for longer than anything explains that it waits, for as many as before."""
        return reports_a_wait(self.beats) and (self.silence_s or 0.0) > self.limit.stalled_s

    @property
    def lines_come(self) -> bool:
        """Whether lines come all the while that nothing new does."""
        return (
            self.unwritten_s is not None and self.unwritten_s < (self.silence_s or 0.0) and self.unwritten_s <= self.limit.slow_s
        )

    @property
    def watch_s(self) -> float:
        """For how long a member must have been watched while such lines come."""
        return watch_s(self.log.beat_s, self.stall_s)

    beside: tuple[MemberStatus, ...] = ()

    @property
    def quiet_s(self) -> float:
        """The silence after which evidence is asked for. A stage's own ceiling explains silence only where there is none."""
        return self.limit.slow_s if self.plan is None or self.plan.steady else self.stall_s

    @property
    def stall_s(self) -> float:
        """The stall limit that the user chose, with the slack of a network file system."""
        return self.spec.stall_s + max((file.slack_s for file in self.log.files), default=0.0)

    @property
    def pause_s(self) -> float:
        """The silence that a sleep explains which ends by itself: as long as work does of which only the name is known, and no
        less than a member is trusted that may loop."""
        return max(LOOP_AT_LEAST_S, WORK_S * self.stall_s / CEILINGS_FOR_S)

    @property
    def in_time(self) -> bool:
        """Whether a run may still rest on purpose."""
        return self.silence_s is None or self.silence_s <= self.pause_s

    @property
    def is_quiet(self) -> bool:
        return self.silence_s is not None and self.silence_s > self.quiet_s

    @property
    def patient(self) -> bool:
        """Whether the silence is so young that a member which may work or loop for ever is taken to work; so it is for as long
        as lines come, for the loop may be what writes them."""
        return self.lines_come or self.silence_s is None or self.silence_s <= max(LOOP_AT_LEAST_S, LOOP_LIMITS * self.quiet_s)

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes whose stacks tell: the members, those beside and above them, which may take part, and the data workers
        below them."""
        everybody = (*self.members, *self.aside)
        members = [member.pid for member in everybody if member.status != "gone"]
        below = {member.process.ppid: member.process for member in everybody}
        above = [process for process in self.procs.processes if process.pid in below]
        parents = [each.pid for each in above if each.role == "other" or runs_alike(each, below[each.pid])]
        workers = [process.pid for process in self.procs.processes if process.role == "data worker"]
        others = [process.pid for process in candidates(self.state, self.members) if process.role == "other"]
        return tuple(dict.fromkeys((*members, *parents, *others, *workers)))

    @property
    def answering(self) -> tuple[int, ...]:
        """Processes beyond the members that are asked for an answer, where their own stack tells whether one is on its way; and
        where a member looks for something, those that the same job started beside it, or that work there for other jobs."""
        known = set(self.pids)
        ends = (
            member.side
            for member in self.members
            if member.side is not None and (member.side.doubted or member.side.kind == "idle")
        )
        asked = [side.pid for side in ends if side.pid is not None]
        looks = any(member.does in ("sleep", "idle", "waits") for member in self.members)
        around = rest_around(self.state.waits) if looks and self.state.waits is not None else ()
        stopped = [member.pid for member in (*self.members, *self.beside) if member.status == "stopped"]
        pausers = pauser_pids(self.state, stopped)
        return tuple(dict.fromkeys(pid for pid in (*asked, *around, *pausers) if pid not in known))[:MOST_ANSWERING]

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
        """When the log last told anything, as a moment: verdicts name no ages, so that they stand still."""
        return moment(self.log.moved_at, self.now)

    @property
    def beats(self) -> str:
        """The line that keeps coming while nothing new does; empty where no line comes."""
        return self.log.repeats if self.log.moved_at != self.log.last_output_at else ""

    @property
    def silence_words(self) -> str:
        """`No output since 14:02:11`, or what comes instead."""
        if not self.beats:
            return f"No output since {self.silent_since}"
        return f'Nothing new since {self.silent_since}, only "{shorten(self.beats, LONGEST_BEAT, placeholder=" …")}"'

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
    copier, state = copier_of(state.procs), without_sidecars(without_copiers(state))
    log = state.log or LogReading(files=())
    ranks = join_ranks(state)
    stage = current_stage(log, ranks)
    silence_s, untold_s, unwritten_s = (
        None if at is None else max(0.0, now - _heard_at(state, at)) for at in (log.moved_at, log.told_at, log.last_output_at)
    )
    limit, plan = limit_of(state, spec, stage), stage_plan(log, stage)
    snapshot = Snapshot(state, spec, now, log, limit, silence_s, stage, plan, ranks, untold_s=untold_s, unwritten_s=unwritten_s)
    worked = without_polling(state)
    statuses = member_statuses(worked, ranks, spinning(state, now), patient=snapshot.patient)
    statuses = with_waits(state, without_side_threads(statuses, listening(state.looks)), snapshot.pause_s)
    statuses = as_twins_idle(state, statuses)
    members, aside = in_question(statuses, elsewhere=bool(at_work_elsewhere(state)))
    if snapshot.lines_come:
        spared = only_tick(state, members, snapshot.pause_s) if log.beats_in_course else frozenset[int]()
        snapshot = replace(snapshot, ticking=spared)
        members = without_writers(members, log.beat_s, snapshot.stall_s, strictly=snapshot.only_beats, spared=spared)
    members = by_groups(with_handles(state, members))
    if not any(stage_of(member.place) for member in members):  # stages stand at different places: their majority means nothing
        members = with_majority(members, max((rank.world or 0 for rank in ranks), default=0))
        members = with_owed_message(state, members)
    others = with_pauses(state, beside(worked, members, patient=snapshot.patient), snapshot.pause_s)
    return replace(snapshot, members=members, aside=aside, beside=others, copier=copier)


def _heard_at(state: RunState, last_output_at: float) -> float:
    """What an earlier attempt wrote last says nothing of how long this one is silent."""
    procs = state.procs
    lives = procs is not None and any(writer.alive for writer in procs.writers)
    return max(last_output_at, procs.began_at) if procs is not None and lives and procs.began_at else last_output_at
