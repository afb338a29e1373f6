"""Stop the run and start it again with the same command, folder and environment, some of it changed: the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hangtop.actions.plans import stop_plan
from hangtop.actions.plans.consequences import on_other_nodes
from hangtop.actions.plans.start_elsewhere import started_elsewhere
from hangtop.actions.plans.stop_plan import number_of, only_taken, which_job
from hangtop.actions.registry import Planner, Request
from hangtop.common.text import some
from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.records.ask import Ask, LaunchAsk
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.nodes import node_of
from hangtop.records.plan import OwnProcess, Plan, Refusal, Repeats, Start, Target
from hangtop.records.process import Process, ProcessReading, ProcessRole
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import plain_file
from hangtop.state.run_state import RunState
from hangtop.system.processes.roles import RUNNER
from hangtop.system.processes.slurm_steps import STEP

BELOW: frozenset[ProcessRole] = frozenset(("ray worker", "ray daemon", "data worker", "compiler", "engine core"))
"""Roles of processes that other processes start, never a person. An actor of Ray may have the role of a rank."""


def top(procs: ProcessReading | None) -> Process | Refusal | None:
    """The process on this machine that started the whole run; `None` when none lives; a refusal when there are several."""
    if procs is not None and (unsure := only_taken(procs) or which_job(procs)):
        return unsure
    tops = _tops([process for process in procs.processes if not node_of(process.pid)] if procs is not None else [])
    if len(tops) > 1:
        pids = ", ".join(str(process.pid) for process in tops[:8])
        return Refusal(f"the run was started as {some(len(tops), 'separate process')} ({pids}): start it again with its launcher")
    return tops[0] if tops else None


def _tops(processes: Iterable[Process]) -> list[Process]:
    """Those that none of the others started, but what is never started by a person. Where the run's own `srun` is there it
    started what Slurm's daemons run."""
    living = [process for process in processes if not process.exited]
    members = {process.pid for process in living if RUNNER not in process.command}
    highest = [process for process in living if process.pid in members and process.ppid not in members]
    by_srun = any(process.name == "srun" for process in living)
    persons = [process for process in highest if not (by_srun and STEP.match(process.command))]
    return [process for process in persons if process.role not in BELOW and not process.command.startswith("ray::")]


def may_live(state: RunState) -> bool:
    """Whether a process of the run may live: one is known, one is suspected, or none was looked for yet."""
    return state.procs is None or bool(state.procs.leads) or any(not process.exited for process in state.procs.processes)


def launch_ask(state: RunState, number: int) -> LaunchAsk:
    """Asks how the run was started: its topmost living process, else the run that wrote the log last."""
    first = top(state.procs)
    far = tuple((process.pid, process.start_ticks) for processes in tops_elsewhere(state).values() for process in processes)
    if isinstance(first, Process):
        return LaunchAsk(number, first.pid, first.start_ticks, far)
    return LaunchAsk(number, elsewhere=far)


def tops_elsewhere(state: RunState) -> dict[str, list[Process]]:
    """By node: the processes there that started the others."""
    return {host: found for host in sorted(state.nodes) if (found := _tops(state.processes[host].processes))}


def _ray_left(state: RunState, targets: Iterable[Target]) -> str:
    """The living Ray session of the run that goes on when the targets end: one that a driver started (ray.init) ends with it."""
    ending = {target.pid for target in targets}
    started = {process.pid for process in state.procs.processes if process.ppid in ending} if state.procs is not None else set()
    sessions = (ray.session for ray in clusters_of_run(state) if started.isdisjoint(part.pid for part in ray.parts))
    return next(sessions, "")


def _output(procs: ProcessReading | None, logs: Sequence[str]) -> str | None:
    """Where the output goes when it went to no file: to the watched log, or to LOG.out when the run writes LOG itself."""
    if (log := plain_file(logs)) is None:
        return None
    itself = procs is not None and any(writer.alive and writer.via is None and writer.paths for writer in procs.writers)
    return f"{log}.out" if itself else log


def restart_plan(
    state: RunState, reading: LaunchReading, me: OwnProcess, verdict: Verdict | None, logs: Sequence[str]
) -> Plan | Refusal:
    """Stop the run if it lives, and start it again. `reading`: the probe's answer, how it was started. `logs`: the watched ones,
    where its output may go."""
    first = top(state.procs)
    if isinstance(first, Refusal):
        return first
    launch = reading.launch
    if launch is None:
        return Refusal(reading.problem or "how it was started is not known")
    output = launch.output or _output(state.procs, logs)
    if output is None:
        return Refusal("its output went to no file: watch one plain file (--log FILE), and the new run will write to it")
    start = Start(
        launch.argv,
        launch.cwd,
        output,
        launch.environ_file,
        visible_devices=launch.visible_devices,
        attempt=launch.attempt + 1,
        shell=launch.shell,
        interfaces=reading.interfaces,
        program=launch.program,
        conditions=launch.conditions,
        repeats=Repeats(launch.pid, launch.start_ticks, launch.started_at, lives=first is not None),
    )
    if first is None:
        return _of_dead_run(state, reading, replace(start, ray=_ray_left(state, ())), me)
    if (first.pid, first.start_ticks) != (launch.pid, launch.start_ticks):
        return Refusal("the run has changed since: press the key again")
    stopped = stop_plan.stop_plan(state, me)
    if isinstance(stopped, Refusal):
        return stopped
    made = replace(
        stopped,
        action="restart",
        title=f"Restart the run: stop {number_of(stopped.everywhere)}, start attempt {start.attempt}",
        start=replace(start, ray=_ray_left(state, stopped.targets)),
        warnings=(*stopped.warnings, *_warnings(first, launch, state.procs, me)),
    )
    return stop_plan.doubted(started_elsewhere(made, state, reading.elsewhere, me), verdict)


def _of_dead_run(state: RunState, reading: LaunchReading, start: Start, me: OwnProcess) -> Plan:
    """Nothing of it lives here. What lives on other nodes ends first: it would be a second run, or meet the new one."""
    made = Plan("restart", f"Start the run again: attempt {start.attempt}", start=start, unseen=stop_plan.unseen(state))
    there = stop_plan.stop_plan(state, me)
    if isinstance(there, Plan) and there.elsewhere and not there.targets:
        title = f"Restart the run: stop {number_of(there.everywhere)}, start attempt {start.attempt}"
        made = replace(there, action="restart", title=title, start=start)
    made = started_elsewhere(made, state, reading.elsewhere, me)
    procs = state.procs
    suspected = (procs.note or "a process here may be the run",) if procs is not None and procs.leads else ()
    doubts = (*made.warnings, *suspected, *on_other_nodes(state, me.host))
    return replace(made, word="restart", warnings=doubts) if doubts or made.elsewhere else made


def _warnings(first: Process, launch: Launch, procs: ProcessReading | None, me: OwnProcess) -> Iterable[str]:
    runners = {process.pid for process in procs.processes if RUNNER in process.command} if procs is not None else set()
    if first.ppid > 1 and first.ppid not in me.ancestors | runners:
        yield f"pid {first.ppid}, which started it, is not stopped: a script may go on with its next line"
    if launch.output is None:
        yield "its output did not go to a plain file; that of the new run does"


class RestartPlanner(Planner):
    """Key r, `hangtop restart`. The probe says how the run was started, while it still lives."""

    waits_for = ("processes", "gpus", "ray")

    def questions(self, state: RunState, request: Request) -> tuple[Ask, ...]:
        return (launch_ask(state, request.number),)

    def plan(self, state: RunState, request: Request, asked: Sequence[Ask]) -> Plan | Refusal:
        assert state.launch is not None
        return restart_plan(state, state.launch, request.me, request.verdict, request.spec.logs)
