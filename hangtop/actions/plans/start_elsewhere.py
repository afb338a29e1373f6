"""What of a restart begins again on other nodes: what was started there, and is not started by a command here. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from msgspec.structs import replace

from hangtop.records.launch import NodeLaunch
from hangtop.records.nodes import node_of, pid_there
from hangtop.records.plan import NodePart, Plan, Start
from hangtop.state.run_state import RunState

ENDS_WITH_ITS_STEP = "what is started by srun ends with its step: start the job again (scontrol requeue)"


def started_elsewhere(plan: Plan, state: RunState, launches: Iterable[NodeLaunch]) -> Plan:
    """The plan with a start on each node where one is known. Where none is, or a node cannot be seen, it says so and wants its
    word: a run that starts on some of its nodes waits for the others."""
    told = {launch.pid: launch for launch in launches}
    by_ssh = _has_client(state)
    parts, doubts = list[NodePart](), [f"a node cannot be seen, so what runs there goes on: {why}" for why in plan.unseen]
    for part in plan.elsewhere:
        known = [launch for pid, launch in told.items() if node_of(pid) == part.known.node]
        start, why = _start(part, known, by_ssh=by_ssh)
        first = known[0].pid if start is not None else 0
        parts.append(replace(part, start=start, starts=first))
        doubts += [f"nothing is started on {part.host}: {why}"] if why else []
    made = replace(plan, elsewhere=tuple(parts), warnings=(*plan.warnings, *doubts))
    return replace(made, word=made.word or plan.action) if doubts else made


def _start(part: NodePart, known: list[NodeLaunch], *, by_ssh: bool) -> tuple[Start | None, str]:
    """(the start, why there is none); neither where a command here starts it again."""
    if not known:
        return None, "how it was started is not known"
    if any(launch.by for launch in known):
        return None, ""
    if len(known) > 1:
        return None, f"it was started as {len(known)} separate processes: start it again with its launcher"
    launch = known[0]
    if launch.pid not in {target.pid for target in part.targets}:
        return None, f"pid {pid_there(launch.pid)}, which started it there, is not ended"
    if launch.problem:
        return None, launch.problem
    by_hand = f"in {launch.cwd}: {shlex.join(launch.argv)}"
    if launch.in_session and by_ssh:
        return None, f"ssh here may start it again; if it does not: {by_hand}"
    if part.known.launcher.startswith("srun "):
        return None, ENDS_WITH_ITS_STEP
    if not launch.output:
        return None, f"its output went to no file there: {by_hand}"
    return Start(launch.argv, launch.cwd, launch.output), ""


def _has_client(state: RunState) -> bool:
    """Whether the run here holds a session of ssh open."""
    procs = state.processes.get(state.here)
    return procs is not None and any(process.name == "ssh" and not process.exited for process in procs.processes)
