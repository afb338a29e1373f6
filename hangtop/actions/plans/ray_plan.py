"""Stop one Ray session, and start it again with the same options: the plans. Pure.

Never by name, as `ray stop` does: that ends every cluster of the machine, and whatever bears a name like Ray's (ray#60454).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from hangtop.actions.plans import stop_plan
from hangtop.actions.plans.stop_plan import frees, newest, number_of, why_not
from hangtop.actions.registry import Planner, Request
from hangtop.common import text
from hangtop.diagnosis.members.ray_ownership import owned
from hangtop.records.ask import Ask, RayAsk
from hangtop.records.plan import LeftAlone, OwnProcess, Plan, RayStart, Refusal, Target
from hangtop.records.process import Process
from hangtop.records.ray.cluster import RayCluster, RayNode
from hangtop.records.ray.session import RayKind, RayProcess, RaySession
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

WORD = "ray"
WAVES: Mapping[RayKind, int] = {"driver": 0, "raylet": 1, "worker": 2, "daemon": 2, "gcs_server": 3}
"""A driver that loses its cluster waits for 60 s; agents complain when they outlive their raylet; all need the GCS to end."""
GRACE_S = 10.0
FOLDER, LINK = "Ray session", "Ray link"
FOLDER_GOES = "the session's folder goes with its logs: bundle the evidence first, --keep-logs leaves it"


def session_of(state: RunState, me: OwnProcess, name: str = "") -> str | Refusal:
    """The session to act on: the one that is named, else the one that is proven to be the run's. A session is never guessed."""
    known = _known(state)
    if name:
        fitting = [cluster for cluster in known if name in (cluster.session, cluster.gcs_address, *cluster.addresses)]
        if len(fitting) != 1:
            several = f"{text.some(len(fitting), 'session')} have {name}: give its name"
            what = several if fitting else f"no session {name} is known here"
            return Refusal(f"{what}: {_names(known) or 'none is'}")
        return fitting[0].session if fitting[0].uid == me.uid else Refusal(_of_another(fitting[0]))
    proven = _proven(state)
    ours = [cluster for cluster in proven if cluster.uid == me.uid]
    if len(ours) == 1:
        return ours[0].session
    if proven and not ours:
        return Refusal(_of_another(proven[0]))
    here = ours or candidates(state, me)
    if not here and (why := _not_looked(state)):
        return Refusal(f"whether a Ray session of yours runs here is not known: {why}")
    if not here:
        return Refusal(f"no Ray session of yours is known on this machine{f': {_names(known)}' if known else ''}")
    proof = f"{len(ours)} {text.are(len(ours))} this run's" if ours else "none is proven to be this run's"
    return Refusal(f"{text.some(len(here), 'Ray session')} of yours on this machine, {proof}: name the one that is meant")


def _not_looked(state: RunState) -> str:
    """Why nothing is known of Ray on this machine; empty where it was looked for."""
    health = state.health.get("ray")
    if state.ray or health is None or health.told:
        return (health.problem or "") if health is not None and not state.ray else ""
    busy = f", its source is busy for {text.duration(health.busy_s)}" if health.busy_s > health.deadline_s else ""
    return f"it was not looked for yet{busy}: ask again"


def is_proven(state: RunState, me: OwnProcess) -> bool:
    """Whether nobody needs to be asked: it is clear which session is meant, or there is none to choose."""
    return isinstance(session_of(state, me), str) or not candidates(state, me)


def candidates(state: RunState, me: OwnProcess) -> list[RayCluster]:
    """The sessions that a person may mean: those proven to be the run's, else the living of this user, else those seen to end."""
    ours = [cluster for cluster in _known(state) if cluster.uid == me.uid]
    names = {cluster.session for cluster in _proven(state)}
    of_run = [cluster for cluster in ours if cluster.session in names]
    return of_run or [cluster for cluster in ours if cluster.ended_at is None] or ours


def _proven(state: RunState) -> list[RayCluster]:
    """The run's sessions that live; when none lives, the one that ended last."""
    clusters = [ours.cluster for ours in owned(state) if ours.cluster.session and ours.cluster.folder]
    ended = [cluster for cluster in clusters if cluster.ended_at is not None]
    last = sorted(ended, key=lambda cluster: cluster.ended_at or 0.0)[-1:]
    return [cluster for cluster in clusters if cluster.ended_at is None] or last


def _of_another(cluster: RayCluster) -> str:
    return f"{cluster.session} belongs to {cluster.user or cluster.uid}: only they may stop it"


def _known(state: RunState) -> list[RayCluster]:
    return [cluster for reading in state.ray.values() for cluster in reading.clusters if cluster.session and cluster.folder]


def ask_of(state: RunState, me: OwnProcess, number: int, name: str = "") -> RayAsk | Refusal:
    """The question whose answer the plans are made of."""
    session = session_of(state, me, name)
    return session if isinstance(session, Refusal) else RayAsk(number, session)


def stopped(state: RunState, session: RaySession, me: OwnProcess) -> Plan | Refusal:
    """Stop driver, raylet, the rest, GCS last; then remove what only this session has left behind."""
    if session.problem:
        return Refusal(session.problem)
    if (why := _not_ours(session, me)) is not None:
        return Refusal(why)
    spared = [(process, why) for process in map(_as_process, session.processes) if (why := why_not(process, me)) is not None]
    kept = {process.pid for process, _ in spared}
    going = [process for process in session.processes if process.pid not in kept]
    targets = targets_of(going, state, me)
    return Plan(
        action="ray stop",
        title=f"Stop Ray: {number_of(targets)} of {session.session}",
        targets=targets,
        spared=(*(LeftAlone(f"pid {process.pid} {process.name}", why) for process, why in spared), *session.kept),
        warnings=tuple(_warnings(state, session, me)),
        word=WORD,
        grace_s=GRACE_S,
        removals=session.removals if not kept else (),
        frees=frees(targets),
        ports=tuple(_ports(session.starts)),
        older_s=0.0,
        newest_ticks=newest(session.processes),
    )


def restarted(state: RunState, session: RaySession, me: OwnProcess) -> Plan | Refusal:
    """Stop the session, then start each node of this machine again with the options that it had."""
    made = stopped(state, session, me)
    if isinstance(made, Refusal):
        return made
    if session.holder is not None:
        return Refusal(f"{session.unknown}: start the run again (key r, hangtop restart), and its Ray comes with it")
    if not session.starts:
        return Refusal(session.unknown or "its options are not known")
    what = f"stop {number_of(made.targets)}, start {text.some(len(session.starts), 'node')} with the same options"
    away = [node for cluster in _clusters(state, session) for node in cluster.nodes if node.alive and not node.local]
    starts = tuple(replace(start, away=len(away)) if start.head else start for start in session.starts)
    return replace(
        made,
        action="ray restart",
        title=f"Restart Ray: {what}; {session.session}",
        ray=starts,
        warnings=(*made.warnings, *_joins(starts, away), *session.warnings),
    )


def plain_stop_refused(session: RaySession, me: OwnProcess) -> Refusal | None:
    """Why the plain `ray stop` must not be run: it would end processes that are not of this session. Each is named."""
    ours = {(process.pid, process.start_ticks) for process in session.processes}
    foreign = [match for match in session.matches if (match.pid, match.start_ticks) not in ours]
    if not foreign:
        return None
    named = "; ".join(f"pid {match.pid} (for {match.word!r} in it): {match.command[:80]}" for match in foreign[:8])
    more = f"; and {len(foreign) - 8} more" if len(foreign) > 8 else ""
    return Refusal(f"ray stop would also end {text.some(len(foreign), 'process')} not of this session: {named}{more}")


def without_folder(plan: Plan) -> Plan:
    """The plan, but the session's folder with its logs stays."""
    stays = [removal for removal in plan.removals if removal.kind in (FOLDER, LINK)]
    return replace(
        plan,
        removals=tuple(removal for removal in plan.removals if removal not in stays),
        spared=(*plan.spared, *(LeftAlone(removal.path, "kept, as asked") for removal in stays)),
    )


def with_options(plan: Plan, changes: Sequence[str]) -> Plan:
    """The plan, but the head (or only) node starts with other options: `name=value`, `name=` (taken out), or `name` (a flag)."""
    if not plan.ray or not changes:
        return plan
    argv = list(plan.ray[0].argv)
    for change in changes:
        name, equals, value = change.lstrip("-").partition("=")
        argv = [word for word in argv if word.partition("=")[0] != f"--{name}"]
        if value or not equals:
            argv.append(f"--{name}={value}" if equals else f"--{name}")
    return with_command(plan, argv)


def with_command(plan: Plan, argv: Sequence[str]) -> Plan:
    """The plan, but the head, or the only node, starts by this command. Its resources are then not compared with those before."""
    first = plan.ray[0]
    same = tuple(argv) == first.argv
    return replace(plan, ray=(first if same else replace(first, argv=tuple(argv), resources={}), *plan.ray[1:]))


def targets_of(processes: Sequence[RayProcess], state: RunState, me: OwnProcess) -> tuple[Target, ...]:
    """In the order of their waves, children before parents within each, with ranks and GPUs where they are known."""
    ranks = {process.pid: process.rank for process in state.procs.processes} if state.procs is not None else {}
    known = {process.pid: process for process in processes}
    made = stop_plan.targets_of([_as_process(process) for process in processes], stop_plan.gpus_here(state, me))
    named = [replace(t, role=known[t.pid].title or t.role, rank=ranks.get(t.pid), wave=WAVES[known[t.pid].kind]) for t in made]
    return tuple(sorted(named, key=lambda target: target.wave))


def _as_process(ray: RayProcess) -> Process:
    return Process(
        ray.pid,
        ray.started_at,
        ray.start_ticks,
        ray.ppid,
        ray.title or ray.kind,
        ray.command,
        ray.state,
        uid=ray.uid,
        user=ray.user,
        rss_bytes=ray.rss_bytes,
    )


def _not_ours(session: RaySession, me: OwnProcess) -> str | None:
    """Why nothing of this session may be touched."""
    for process in session.processes:
        if process.kind in ("raylet", "gcs_server") and process.uid != me.uid:
            return f"the session belongs to {process.user or process.uid}: only they, or root, may stop it"
        if process.pid == 1 or (process.kind != "driver" and process.pid in me.ancestors):
            who = f"pid {process.pid} ({process.title})"
            return f"{who} keeps this container or your session alive: restart the container instead"
    return None


def _warnings(state: RunState, session: RaySession, me: OwnProcess) -> Iterator[str]:
    run = {process.pid for process in state.procs.processes} if state.procs is not None else set()
    for process in session.processes:
        if process.job is not None and run and process.pid not in run:
            driver = f"pid {process.pid} drives job {process.job} on this session"
            yield f"{driver}, is not of this run, and ends with it: {process.command[:100]}"
        if process.state == "D":
            yield f"pid {process.pid} is blocked in the kernel: no signal reaches it until its mount or GPU answers"
    for remote in (driver for cluster in _clusters(state, session) for driver in cluster.drivers if not driver.local):
        yield f"job {remote.job} is driven from node {remote.node[:8]}, and ends too: {remote.command[:80]}"
    if any(removal.kind == FOLDER for removal in session.removals):
        yield FOLDER_GOES


def _joins(starts: Iterable[RayStart], away: Sequence[RayNode]) -> Iterator[str]:
    """Nodes on other machines lose their head: the command that joins them again."""
    head = next((start for start in starts if start.head), None)
    if head is not None and away:
        names = ", ".join(f"{node.host} ({node.ip})" for node in away[:8])
        more = f" and {len(away) - 8} more" if len(away) > 8 else ""
        command = shlex.join(("ray", "start", f"--address={head.gcs_address}"))
        yield f"{text.some(len(away), 'node')} elsewhere must join again: on {names}{more} run {command}"


def _clusters(state: RunState, session: RaySession) -> list[RayCluster]:
    return [cluster for reading in state.ray.values() for cluster in reading.clusters if cluster.session == session.session]


def _ports(starts: Iterable[RayStart]) -> Iterator[int]:
    for start in starts:
        if start.head:
            for address in (start.gcs_address, start.dashboard or ""):
                if (port := address.rpartition(":")[2]).isdecimal():
                    yield int(port)


def _names(clusters: Iterable[RayCluster]) -> str:
    return ", ".join(f"{cluster.session} of {cluster.user or cluster.uid}" for cluster in clusters)


class RayStopPlanner(Planner):
    """`hangtop ray stop`. The probe describes the session while it lives. `made`: the plan without any choice."""

    waits_for = ("every source",)
    patience_s = 20.0
    made = staticmethod(stopped)

    def narrowed(self, spec: WatchSpec) -> WatchSpec:
        return replace(spec, sources=("ray", "procs", "log") if spec.logs or spec.pids else ("ray",))

    def sessions(self, state: RunState, me: OwnProcess) -> Sequence[RayCluster]:
        return () if is_proven(state, me) else candidates(state, me)

    def questions(self, state: RunState, request: Request) -> tuple[Ask, ...] | Refusal:
        asked = ask_of(state, request.me, request.number, request.choices.session or "")
        return asked if isinstance(asked, Refusal) else (asked,)

    def plan(self, state: RunState, request: Request, asked: Sequence[Ask]) -> Plan | Refusal:
        session, choices = state.ray_session, request.choices
        assert session is not None
        if choices.plain and (refused := plain_stop_refused(session, request.me)) is not None:
            return refused
        made = self.made(state, session, request.me)
        if isinstance(made, Refusal):
            return made
        made = with_options(without_folder(made) if choices.keep_logs else made, choices.ray_options)
        return replace(stop_plan.doubted(made, request.verdict), word=made.word)


class RayRestartPlanner(RayStopPlanner):
    """Key R, `hangtop ray restart`."""

    made = staticmethod(restarted)
