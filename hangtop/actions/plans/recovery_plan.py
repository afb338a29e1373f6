"""A full recovery of a hung run behind one confirmation: the plan. Pure.

Stacks, bundle, stop the driver, the ranks and this Ray session, clean, start Ray, start the run, watch it pass where it hung.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hangtop.actions.plans import ray_plan, restart_plan, stop_plan
from hangtop.actions.plans.stop_plan import SERVES_RAY, frees, number_of
from hangtop.actions.registry import Planner, Request
from hangtop.diagnosis.facts.silence_limits import current_stage
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.diagnosis.members.ray_ownership import clusters_of_run, uses_ray
from hangtop.records.ask import Ask, RayAsk
from hangtop.records.launch import LaunchReading
from hangtop.records.plan import EvidenceCommand, OwnProcess, Plan, Refusal, Target, Watch
from hangtop.records.ray.cluster import RayCluster
from hangtop.records.ray.session import RaySession
from hangtop.records.watch_spec import WatchSpec, as_options
from hangtop.state.run_state import RunState

WORD = "recover"
STACKS_S, BUNDLE_S = 60.0, 180.0
RANKS = 1
"""Wave of the ranks: after the driver (wave 0), before Ray."""


def session_of(state: RunState, me: OwnProcess) -> str:
    """Name of the Ray session that is proven to be the run's own and restarts with it; empty when there is none."""
    lives = clusters_of_run(state) or clusters_of_run(state, ended=True)
    name = ray_plan.session_of(state, me) if lives else ""
    return name if isinstance(name, str) else ""


def must_ask(state: RunState, me: OwnProcess) -> bool:
    """Whether the run may be on Ray, in one of our sessions, and it is not known in which."""
    return uses_ray(state) and not session_of(state, me) and not ray_plan.is_proven(state, me)


def recovery_plan(state: RunState, launch: LaunchReading, session: RaySession | None, request: Request) -> Plan | Refusal:
    """All of it in one plan. `session`: the run's own, `None` when it has no Ray."""
    spec = request.spec
    run = restart_plan.restart_plan(state, launch, request.me, None, spec.logs)
    if isinstance(run, Refusal):
        return run
    below, why = _ray(state, session, request.me)
    targets = _joined(run.targets, below.targets if below is not None else ())
    assert run.start is not None
    everywhere = (*targets, *(target for part in run.elsewhere for target in part.targets))
    parts = [f"stop {number_of(everywhere)}"] if everywhere else []
    parts += ["start Ray"] if below is not None and below.ray else []
    made = replace(
        run,
        action="recover",
        title=f"Recover the run: {', '.join((*parts, f'start attempt {run.start.attempt}'))}, watch it",
        evidence=tuple(_evidence(spec, request.evidence)) if run.targets and "-" not in spec.logs else (),
        targets=targets,
        beyond=(),  # they do not hold up the new start
        warnings=(*run.warnings, *why),
        word=WORD,
        watch=_watch(state, spec),
        frees=frees(everywhere),
        older_s=0.0,
    )
    if below is not None:
        made = replace(
            made,
            spared=(*(left for left in run.spared if SERVES_RAY not in left.why), *below.spared),
            warnings=(*made.warnings, *(said for said in below.warnings if said != ray_plan.FOLDER_GOES)),
            removals=below.removals,
            ray=below.ray,
            start=replace(run.start, ray=""),
            ports=tuple(dict.fromkeys((*run.ports, *below.ports))),
            newest_ticks=max(run.newest_ticks, below.newest_ticks),
        )
    return stop_plan.doubted(made, request.verdict if run.targets else None)


def _ray(state: RunState, session: RaySession | None, me: OwnProcess) -> tuple[Plan | None, Sequence[str]]:
    """(plan for Ray, warnings). A session that is not ours, or cannot be started again, is left as it is."""
    if session is None:
        names = ", ".join(cluster.session for cluster in ray_plan.candidates(state, me))
        said = f"no Ray session is proven to be this run's, so Ray is left as it is; --session NAME takes it along: {names}"
        return None, (said,) if must_ask(state, me) else ()
    if session.holder is not None:
        made = ray_plan.stopped(state, session, me)
        said = f"pid {session.holder} started Ray itself (ray.init): it ends with it, and the new run brings its own"
        return (made, (said,)) if isinstance(made, Plan) else (None, (made.why,))
    again = ray_plan.restarted(state, session, me)
    return (again, ()) if isinstance(again, Plan) else (None, (f"Ray is left as it is: {again.why}",))


def _joined(run: Iterable[Target], below: Iterable[Target]) -> tuple[Target, ...]:
    """Each process once, in waves: driver and launchers, then ranks, then those of Ray."""
    of_ray = {target.pid: target for target in below}
    ours = {target.pid for target in run}
    found = [
        replace(target, wave=RANKS if target.role in ("ray worker", "rank") and target.pid in of_ray else 0) for target in run
    ]
    found += [replace(t, wave=t.wave + RANKS if t.wave else 0) for pid, t in of_ray.items() if pid not in ours]
    return tuple(sorted(found, key=lambda target: target.wave))


def _evidence(spec: WatchSpec, place: str) -> Iterable[EvidenceCommand]:
    options = as_options(spec)
    yield EvidenceCommand(("stacks", *options), "stacks", STACKS_S, f"{place}-stacks.txt")
    yield EvidenceCommand(("bundle", *options, "-o", f"{place}.tar.gz"), "bundle", BUNDLE_S)


def _watch(state: RunState, spec: WatchSpec) -> Watch | None:
    """What the new run must pass: the stage and step where the old one hung."""
    if not spec.logs or "-" in spec.logs:
        return None
    log = state.log
    last = current_stage(log, join_ranks(state)) if log is not None else None
    return Watch(
        logs=spec.logs,
        stage=last.id if last else "",
        title=last.title if last else "",
        order=tuple(stage.id for stage in log.plan) if log is not None else (),
        step=log.progress.step if log is not None else None,
        profile=spec.profile,
        stall_s=spec.stall_s,
    )


class RecoveryPlanner(Planner):
    """Key !, `hangtop recover`. The probe describes the run and its Ray session while they live."""

    waits_for = ("log", "gpus", "ray")
    patience_s = 30.0
    no_session = "none of these: leave Ray as it is"

    def sessions(self, state: RunState, me: OwnProcess) -> Sequence[RayCluster]:
        return ray_plan.candidates(state, me) if must_ask(state, me) else ()

    def questions(self, state: RunState, request: Request) -> tuple[Ask, ...] | Refusal:
        named = request.choices.session
        name = session_of(state, request.me) if named is None else named
        launch = restart_plan.launch_ask(state, request.number)
        if not name:
            return (launch,)
        session = ray_plan.ask_of(state, request.me, request.number, name)
        return session if isinstance(session, Refusal) else (launch, session)

    def plan(self, state: RunState, request: Request, asked: Sequence[Ask]) -> Plan | Refusal:
        assert state.launch is not None
        session = state.ray_session if any(isinstance(ask, RayAsk) for ask in asked) else None
        return recovery_plan(state, state.launch, session, request)
