"""What of a restart begins again on other nodes: what was started there, and is not started by a command here. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from hangtop.actions.plans.stop_plan import STAYS, chosen_elsewhere, left_alone
from hangtop.records.launch import NodeLaunch
from hangtop.records.nodes import node_of, pid_there
from hangtop.records.plan import NodePart, OwnProcess, Plan, Start
from hangtop.state.run_state import RunState

ENDS_WITH_ITS_STEP = "what is started by srun ends with its step: start the job again (scontrol requeue)"


def started_elsewhere(plan: Plan, state: RunState, launches: Iterable[NodeLaunch], me: OwnProcess) -> Plan:
    """The plan with a start on each node where one is known. Where none is, or a node cannot be seen, or something there is not
    ended, it says so and wants its word: a run that starts on some of its nodes waits for the others."""
    told = {launch.pid: launch for launch in launches}
    ended, by_ssh = {target.pid for target in plan.targets}, _ends_a_client(plan, state)
    parts, doubts = list[NodePart](), [f"a node cannot be seen, so what runs there goes on: {why}" for why in plan.unseen]
    for part in plan.elsewhere:
        known = [launch for pid, launch in told.items() if node_of(pid) == part.known.node]
        start, why = _start(part, known, ended, by_ssh=by_ssh)
        first = known[0].pid if start is not None else 0
        parts.append(replace(part, start=start, starts=first))
        doubts += [f"nothing is started on {part.host}: {why}"] if why else []
    doubts += _goes_on(state, me)
    made = replace(plan, elsewhere=tuple(parts), warnings=(*plan.warnings, *doubts))
    return replace(made, word=made.word or plan.action) if doubts else made


def _goes_on(state: RunState, me: OwnProcess) -> Iterator[str]:
    """What is not ended on nodes that are seen, and nodes on which nothing of the run is."""
    chosen = chosen_elsewhere(state, me)
    for node in chosen:
        living = [(process, why) for process, why in node.spared if not process.exited and process.role not in STAYS]
        yield from (f"{left.what} on {node.host} goes on: {left.why}" for left in left_alone(living))
    seen = {host for host in state.nodes if state.processes[host].node is not None}
    for host in sorted(seen - {node.host for node in chosen}):
        yield f"nothing of the run is seen on {host}, so nothing is started there"


def _start(part: NodePart, known: list[NodeLaunch], ended: Collection[int], *, by_ssh: bool) -> tuple[Start | None, str]:
    """(the start, why there is none); neither where a command here starts it again. `ended`: what ends here."""
    if not known:
        return None, "how it was started is not known"
    if all(launch.by in ended for launch in known):
        return None, ""
    if len(known) > 1:
        return None, f"it was started as {len(known)} separate processes: start it again with its launcher"
    launch = known[0]
    if launch.pid not in {target.pid for target in part.targets}:
        return None, f"pid {pid_there(launch.pid)}, which started it there, is not ended"
    if launch.problem:
        return None, launch.problem
    by_hand = f"in {launch.cwd}: {shlex.join(launch.argv)}"
    if launch.by:
        return None, f"pid {launch.by} here, which started it, is not ended"
    if launch.within:
        return None, f"no {launch.within} of the run is seen here that started it: {by_hand}"
    if launch.in_session and by_ssh:
        return None, f"ssh here may start it again; if it does not: {by_hand}"
    if part.known.launcher.startswith("srun "):
        return None, ENDS_WITH_ITS_STEP
    if not launch.output:
        return None, f"its output went to no file there: {by_hand}"
    return Start(launch.argv, launch.cwd, launch.output), ""


def _ends_a_client(plan: Plan, state: RunState) -> bool:
    """Whether a session of ssh ends with the plan, which the command here may open again."""
    procs, ended = state.processes.get(state.here), {target.pid for target in plan.targets}
    return procs is not None and any(process.name == "ssh" and process.pid in ended for process in procs.processes)
