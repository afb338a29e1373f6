"""Stop the run and start it again with the same command, folder and environment, some of it changed: the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hangtop.actions.action import Planner, Request
from hangtop.actions.plans import stop_plan
from hangtop.actions.plans.stop_plan import RUNNER, OwnProcess, number_of, only_taken, which_job
from hangtop.common.text import some
from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.records.ask import Ask, LaunchAsk
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.plan import Plan, Refusal, Repeats, Start
from hangtop.records.process import Process, ProcessReading, ProcessRole
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import plain_file
from hangtop.state.run_state import RunState

BELOW: frozenset[ProcessRole] = frozenset(("ray worker", "ray daemon", "data worker", "compiler", "engine core"))
"""Roles of processes that other processes start, never a person."""


def top(procs: ProcessReading | None) -> Process | Refusal | None:
    """The process that started the whole run; `None` when none lives; a refusal when there are several."""
    if procs is not None and (unsure := only_taken(procs) or which_job(procs)):
        return unsure
    living = [process for process in procs.processes if process.state not in "ZX"] if procs is not None else []
    members = {process.pid for process in living if RUNNER not in process.command}
    tops = [process for process in living if process.pid in members and process.ppid not in members and not _is_below(process)]
    if len(tops) > 1:
        pids = ", ".join(str(process.pid) for process in tops[:8])
        return Refusal(f"the run was started as {some(len(tops), 'separate process')} ({pids}): start it again with its launcher")
    return tops[0] if tops else None


def _with_leads(made: Plan, procs: ProcessReading | None) -> Plan:
    """The plan; when a process here may already be this run, a person must type its word first."""
    if procs is None or not procs.leads:
        return made
    return replace(made, word=made.action, warnings=(*made.warnings, procs.note or "a process here may be the run"))


def may_live(state: RunState) -> bool:
    """Whether a process of the run may live: one is known, one is suspected, or none was looked for yet."""
    return state.procs is None or bool(state.procs.leads) or any(process.state not in "ZX" for process in state.procs.processes)


def _is_below(process: Process) -> bool:
    """Whether another process started it. An actor with a rank has the role of a rank, and still Ray started it."""
    return process.role in BELOW or process.command.startswith("ray::")


def launch_ask(state: RunState, number: int) -> LaunchAsk:
    """Asks how the run was started: its topmost living process, else the run that wrote the log last."""
    first = top(state.procs)
    return LaunchAsk(number, first.pid, first.start_ticks) if isinstance(first, Process) else LaunchAsk(number)


def answered(
    state: RunState, told: LaunchReading, me: OwnProcess, verdict: Verdict | None, logs: Sequence[str]
) -> Plan | Refusal:
    """The plan, once the probe has answered how the run was started."""
    first = top(state.procs)
    if isinstance(first, Refusal):
        return first
    if told.launch is None:
        return Refusal(told.problem or "how it was started is not known")
    made = restart_plan(state, told.launch, me, _output(state.procs, logs))
    if isinstance(made, Refusal):
        return made
    assert made.start is not None
    made = replace(made, start=replace(made.start, interfaces=told.interfaces, ray=_ray_left(state, made)))
    return stop_plan.doubted(made, verdict if made.targets else None)


def _ray_left(state: RunState, plan: Plan) -> str:
    """The living Ray session of the run that goes on when the targets end: one that a driver started (ray.init) ends with it."""
    ending = {target.pid for target in plan.targets}
    started = {process.pid for process in state.procs.processes if process.ppid in ending} if state.procs is not None else set()
    sessions = (ray.session for ray in clusters_of_run(state) if started.isdisjoint(part.pid for part in ray.parts))
    return next(sessions, "")


def _output(procs: ProcessReading | None, logs: Sequence[str]) -> str | None:
    """Where the output goes when it went to no file: to the watched log, or to LOG.out when the run writes LOG itself."""
    if (log := plain_file(logs)) is None:
        return None
    itself = procs is not None and any(writer.alive and writer.via is None and writer.paths for writer in procs.writers)
    return f"{log}.out" if itself else log


def restart_plan(state: RunState, launch: Launch, me: OwnProcess, log: str | None) -> Plan | Refusal:
    """Stop the run if it lives, and start it again. `log`: where its output goes when it went to no plain file, if anywhere."""
    output = launch.output or log
    if output is None:
        return Refusal("its output went to no file: watch one plain file (--log FILE), and the new run will write to it")
    first = top(state.procs)
    if isinstance(first, Refusal):
        return first
    start = Start(
        launch.argv,
        launch.cwd,
        output,
        launch.environ_file,
        visible_devices=launch.visible_devices,
        attempt=launch.attempt + 1,
        shell=launch.shell,
        program=launch.program,
        conditions=launch.conditions,
        repeats=Repeats(launch.pid, launch.start_ticks, launch.started_at, lives=first is not None),
    )
    if first is None:
        return _with_leads(Plan("restart", f"Start the run again: attempt {start.attempt}", start=start), state.procs)
    if (first.pid, first.start_ticks) != (launch.pid, launch.start_ticks):
        return Refusal("the run has changed since: press the key again")
    stopped = stop_plan.stop_plan(state, me)
    if isinstance(stopped, Refusal):
        return stopped
    title = f"Restart the run: stop {number_of(stopped.targets)}, start attempt {start.attempt}"
    return replace(
        stopped,
        action="restart",
        title=title,
        start=start,
        warnings=(*stopped.warnings, *_warnings(first, launch, state.procs, me)),
    )


def _warnings(first: Process, launch: Launch, procs: ProcessReading | None, me: OwnProcess) -> Iterable[str]:
    runners = {process.pid for process in procs.processes if RUNNER in process.command} if procs is not None else set()
    if first.ppid > 1 and first.ppid not in me.ancestors | runners:
        yield f"pid {first.ppid}, which started it, is not stopped: a script may go on with its next line"
    if launch.output is None:
        yield "its output did not go to a plain file; that of the new run does"


class RestartPlanner(Planner):
    """Key r, `hangtop restart`. The probe says how the run was started, while it still lives."""

    waits_for = ("processes", "ray")

    def questions(self, state: RunState, request: Request) -> tuple[Ask, ...]:
        return (launch_ask(state, request.number),)

    def plan(self, state: RunState, request: Request, asked: Sequence[Ask]) -> Plan | Refusal:
        assert state.launch is not None
        return answered(state, state.launch, request.me, request.verdict, request.spec.logs)
