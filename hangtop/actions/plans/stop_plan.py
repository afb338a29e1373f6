"""Stop the run, or one rank: the plan. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct, convert
from msgspec.structs import replace

from hangtop.actions.plans.consequences import clients, of_a_part, on_another_node, on_other_nodes
from hangtop.actions.plans.saving import not_saved, saving
from hangtop.actions.registry import Planner, Request
from hangtop.common import text
from hangtop.diagnosis.facts.silence_limits import current_stage
from hangtop.diagnosis.members.rank_gpus import memory_of
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.records.ask import Ask
from hangtop.records.gpu import Gpu
from hangtop.records.nodes import OtherNode, host_of, is_node, pid_text, pid_there
from hangtop.records.plan import LeftAlone, NodePart, OwnProcess, Plan, Refusal, Target
from hangtop.records.process import Process, ProcessReading
from hangtop.records.ray.session import RayProcess
from hangtop.records.stopped import RunPlace
from hangtop.records.verdict import Verdict
from hangtop.state.run_state import RunState
from hangtop.system.processes.roles import RUNNER

STAYS = frozenset({"ray daemon"})
"""Roles that a stop of the run leaves alone: they serve other runs too."""
NOT_TIED = "nothing but --hosts ties it to this log: hangtop stop --pid, on that node, says that it is the run"
SERVES_RAY = "it serves the whole Ray session"


class Chosen(Struct, frozen=True):
    """Processes of the run that a person means. `what`: in words. `ours`: those that this user may signal. `spared`: the others,
    each with the reason."""

    what: str
    procs: ProcessReading
    ours: list[Process]
    spared: list[tuple[Process, str]]


def chosen_processes(state: RunState, me: OwnProcess, rank: int | None = None, pid: int | None = None) -> Chosen | Refusal:
    """The run, one rank, or one process; each with its descendants."""
    here_only = bool(me.host and state.processes)  # a pid of another machine means nothing here
    procs = state.processes.get(me.host) if here_only else state.procs
    here = procs is not None and any(process.rank == rank for process in procs.processes)
    if rank is not None and not here and (far := on_another_node(state, me.host, rank)) is not None:
        return Refusal(far)
    if procs is None or not procs.processes:
        note = procs.note if procs is not None and not procs.leads else None  # a process that may be the run is not offered
        return Refusal(f"no process of this run is known on this machine: {note or 'give --pid, or run hangtop where it runs'}")
    if unsure := only_taken(procs) or (which_job(procs) if pid is None else None):
        return unsure
    what, chosen = _what(rank, pid), _meant(procs, rank, pid)
    if not chosen:
        return Refusal(f"no process of {what} is known on this machine")
    spared = [(process, why) for process in chosen if (why := why_not(process, me)) is not None]
    kept = {process.pid for process, _ in spared}
    return Chosen(what, procs, [process for process in chosen if process.pid not in kept], spared)


def _what(rank: int | None, pid: int | None) -> str:
    if rank is not None:
        return f"rank {rank}"
    return f"{pid_text(pid)} and what it started" if pid is not None else "the run"


def _meant(procs: ProcessReading, rank: int | None, pid: int | None) -> list[Process]:
    """The processes of this node that are meant, with their descendants."""
    whole = rank is None and pid is None
    chosen_ids = {
        process.pid for process in procs.processes if whole or (process.rank == rank if rank is not None else process.pid == pid)
    }
    return with_descendants(procs.processes, chosen_ids)


def _is_here(state: RunState, me: OwnProcess, rank: int | None, pid: int | None) -> bool:
    """Whether something of what is meant is on this machine."""
    procs = state.processes.get(me.host) if me.host and state.processes else state.procs
    return procs is not None and bool(_meant(procs, rank, pid))


class ChosenElsewhere(Struct, frozen=True):
    """What is meant on another node; as in `Chosen`. `known`: which machine that is."""

    host: str
    known: OtherNode
    procs: ProcessReading
    ours: list[Process]
    spared: list[tuple[Process, str]]


def chosen_elsewhere(state: RunState, me: OwnProcess, rank: int | None = None, pid: int | None = None) -> list[ChosenElsewhere]:
    """What is meant on each node that is reached: the run, one rank, or one process."""
    found: list[ChosenElsewhere] = []
    for host in sorted(state.nodes):
        procs = state.processes[host]
        if procs.node is None or not (chosen := _meant(procs, rank, pid)):
            continue
        there = OwnProcess(0, frozenset(), procs.node.uid, host)
        reasons = {process.pid: why_not(process, there) or (None if procs.node.tied else NOT_TIED) for process in chosen}
        spared = [(process, why) for process in chosen if (why := reasons[process.pid]) is not None]
        ours = [process for process in chosen if reasons[process.pid] is None]
        found.append(ChosenElsewhere(host, procs.node, procs, ours, spared))
    return found


def _part(node: ChosenElsewhere) -> NodePart:
    return NodePart(node.host, node.known, targets_of(node.ours), newest(node.procs.processes))


def _left_elsewhere(nodes: Iterable[ChosenElsewhere]) -> Iterable[LeftAlone]:
    for node in nodes:
        for left in left_alone(node.spared):
            yield replace(left, what=f"{left.what} on {node.host}")


def unseen(state: RunState) -> tuple[str, ...]:
    """The named nodes of which nothing is known, each with why."""
    nodes = ((name, health) for name, health in sorted(state.health.items()) if is_node(name))
    lost = ((host_of(name), health.problem) for name, health in nodes if health.problem or health.read_at is None)
    return tuple(why or f"{host} has not answered yet" for host, why in lost)


def stop_plan(state: RunState, me: OwnProcess, rank: int | None = None, pid: int | None = None) -> Plan | Refusal:
    """Stop the run, one rank, or one process; each with its descendants, as far as this user may stop them."""
    chosen, far = chosen_processes(state, me, rank, pid), chosen_elsewhere(state, me, rank, pid)
    if isinstance(chosen, Refusal):
        if not far or _is_here(state, me, rank, pid):
            return chosen
        chosen = Chosen(_what(rank, pid), ProcessReading(), [], [])
    procs, stopped, whole = chosen.procs, chosen.ours, rank is None and pid is None
    elsewhere = tuple(_part(node) for node in far if node.ours)
    if not stopped and not elsewhere:
        spared = [*chosen.spared, *(each for node in far for each in node.spared)]
        return Refusal("nothing to stop: " + "; ".join(sorted({why for _, why in spared})))
    gpus = gpus_here(state, me)
    targets = targets_of(stopped, gpus)
    everywhere = (*targets, *(target for part in elsewhere for target in part.targets))
    hosts = [me.host] * bool(targets and me.host) + [part.host for part in elsewhere]
    meeting = procs.rendezvous if whole else None
    return Plan(
        action="stop",
        title=f"Stop {chosen.what}: {number_of(everywhere)}" + (f" on {', '.join(hosts)}" if hosts else ""),
        targets=targets,
        spared=(*left_alone(chosen.spared), *_neighbours(targets, gpus), *_left_elsewhere(far)),
        beyond=targets_of([process for process, _ in chosen.spared if process.uid not in (None, me.uid) and not process.exited]),
        warnings=(
            *_warnings(stopped, procs),
            *(on_other_nodes(state, me.host) if whole else ()),
            *clients(stopped, [part.host for part in elsewhere]),
            *(of_a_part(stopped, procs) if not whole else ()),
            *_gpu_warnings(targets, gpus),
            *not_saved(stopped, (part.host for part in elsewhere)),
        ),
        frees=frees(everywhere),
        ports=(meeting.port,) if meeting is not None and meeting.listening else (),
        stops=run_place(state) if whole else None,
        logs=tuple(sorted({path for writer in procs.writers if writer.alive for path in writer.paths})),
        newest_ticks=newest(procs.processes),
        elsewhere=elsewhere,
        unseen=unseen(state) if whole else (),
        saving=saving(stopped, newest(procs.processes)),
    )


def run_place(state: RunState) -> RunPlace | None:
    """How far the run has come, and its logs, by which it is known later."""
    logs = tuple(file.path for file in state.log.files if file.path != "-") if state.log is not None else ()
    if state.log is None or not logs:
        return None
    stage = current_stage(state.log, join_ranks(state))
    return RunPlace(logs, stage.title if stage is not None else "", state.log.progress.step)


def only_taken(procs: ProcessReading) -> Refusal | None:
    """A refusal where processes are only assumed to write the log: another monitor may name it on its command line too."""
    if not procs.taken:
        return None
    pids = text.rank_ranges(procs.taken)
    given = " ".join(f"--pid {pid}" for pid in procs.taken[:4])
    return Refusal(f"nobody holds the log open, and pid {pids} is only assumed to write it: {given} says that it is the run")


def which_job(procs: ProcessReading) -> Refusal | None:
    """A refusal where several jobs of one shell write the log: only a person knows which job is the run."""
    if not procs.jobs:
        return None
    commands = {process.pid: process.command for process in procs.processes}
    jobs = "; ".join(f"--pid {pid}: {commands.get(pid, '?')[:80]}" for pid in procs.jobs[:8])
    number = len(procs.jobs)
    return Refusal(f"{number} jobs of your shell (pid {procs.shell}) write this log, which of them is the run? {jobs}")


def doubted(plan: Plan, verdict: Verdict | None) -> Plan:
    """The plan; when the run seems to work, a person must type its word first."""
    if verdict is None or not verdict.state.works:
        return plan
    doubt = f"the run does not seem to hang ({verdict.word}): {verdict.headline}"
    return replace(plan, word=plan.action, warnings=(doubt, *plan.warnings))


def targets_of(processes: Collection[Process], gpus: Iterable[Gpu] = ()) -> tuple[Target, ...]:
    """The processes as targets, children before parents, with the memory that they hold on these GPUs."""
    held, parents = memory_of(gpus), {process.pid: process.ppid for process in processes}
    ordered = sorted(processes, key=lambda process: (-_depth(process.pid, parents), process.pid))
    return tuple(_target(process, held.get(process.pid, {})) for process in ordered)


def newest(processes: Iterable[Process | RayProcess]) -> int:
    """Start time of the youngest process, in ticks after boot."""
    return max((process.start_ticks for process in processes), default=0)


def number_of(targets: Sequence[Target]) -> str:
    """`1 process`, `44 processes`."""
    return text.some(len(targets), "process")


def frees(targets: Iterable[Target]) -> str:
    """`490 G on 8 GPUs, 343 G of memory`."""
    known = list(targets)
    gpus = {gpu for target in known for gpu in target.gpus}
    on_gpus = sum(target.gpu_bytes or 0 for target in known)
    memory = sum(target.rss_bytes or 0 for target in known)
    parts = [
        f"{text.size(on_gpus)} on {text.some(len(gpus), 'GPU')}" if on_gpus else text.some(len(gpus), "GPU") if gpus else "",
        f"up to {text.size(memory)} of memory" if memory else "",
    ]
    return ", ".join(part for part in parts if part)


def why_not(process: Process, me: OwnProcess, *, stays: Collection[str] = STAYS) -> str | None:
    """Why this process must not be signalled; `None` when it may. `stays`: roles that are left alone."""
    if pid_there(process.pid) <= 1:
        return "pid 1 keeps the machine or the container alive"
    if process.pid == me.pid:
        return "this is hangtop"
    if process.pid in me.ancestors:
        return "hangtop runs below it: your shell or session"
    if process.uid is None:
        return "whose it is cannot be seen"
    if process.uid != me.uid:
        return f"it belongs to {process.user or process.uid}"
    if process.role in stays:
        return f"{SERVES_RAY}; a restart of Ray stops that too"
    if process.exited:
        return f"dead already, no signal helps: its parent, pid {process.ppid}, must reap it or end"
    if RUNNER in process.command:
        return "hangtop's runner: it writes the log, and ends with the run"
    return None


def gpus_here(state: RunState, me: OwnProcess) -> tuple[Gpu, ...]:
    """The GPUs of this machine, but those whose driver lists pids of another pid namespace."""
    nodes = [node for host, node in state.gpus.items() if not me.host or host == me.host]
    return tuple(gpu for node in nodes if not node.reading.pids_hidden for gpu in node.reading.gpus)


def with_descendants(processes: Iterable[Process], pids: Collection[int]) -> list[Process]:
    """The processes with these pids, and their descendants."""
    listed, members = list(processes), set(pids)
    grew = bool(members)
    while grew:
        below = {process.pid for process in listed if process.ppid in members} - members
        members |= below
        grew = bool(below)
    return [process for process in listed if process.pid in members]


def _depth(pid: int, parents: Mapping[int, int]) -> int:
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
    return len(seen)


def left_alone(spared: Iterable[tuple[Process, str]]) -> Iterable[LeftAlone]:
    """One line for all processes of the same name and reason."""
    reasons: dict[tuple[str, str], list[int]] = {}
    for process, why in spared:
        reasons.setdefault((process.name, why), []).append(pid_there(process.pid))
    for (name, why), pids in reasons.items():
        yield LeftAlone(f"{text.numbered('pid', pids)} {name}", why)


def _neighbours(targets: Sequence[Target], gpus: Iterable[Gpu]) -> Iterable[LeftAlone]:
    """Other processes on the same GPUs."""
    ours, used = {target.pid for target in targets}, {gpu for target in targets for gpu in target.gpus}
    for gpu in gpus:
        for process in gpu.processes:
            if gpu.index in used and process.pid not in ours:
                why = f"not this run; it holds {text.size(process.used_bytes)}"
                yield LeftAlone(f"pid {process.pid} on GPU {gpu.index}", why)


def _warnings(targets: Iterable[Process], procs: ProcessReading) -> Iterable[str]:
    if procs.shell is not None:
        yield f"the log is the output of an interactive shell: that shell, pid {procs.shell}, is not touched"
    for process in targets:
        if process.state == "D":
            yield f"pid {process.pid} is {process.doing}: no signal reaches it until its mount or GPU answers"
        if process.tracer_pid:
            yield f"pid {process.pid} is {process.doing}: end the debugger if it survives"
    if pids := text.rank_ranges(process.pid for process in procs.zombies if process.ppid == 1):
        mend = "run the container with an init (docker run --init)"
        yield f"zombies {pids}: pid 1 does not reap them, and may not reap what ends now; no signal helps: {mend}"


def _gpu_warnings(targets: Sequence[Target], gpus: Iterable[Gpu]) -> Iterable[str]:
    used = {gpu for target in targets for gpu in target.gpus}
    for gpu in gpus:
        if gpu.index not in used:
            continue
        if gpu.xid is not None:
            mend = f"nvidia-smi --gpu-reset -i {gpu.index}, or reboot"
            yield f"GPU {gpu.index} reported Xid {gpu.xid}: it may keep its memory until it is reset: {mend}"
        if gpu.status in ("no answer", "lost", "unknown error", "reset needed"):
            yield f"GPU {gpu.index}: {gpu.status}; processes on it may not end before it is reset or the machine is rebooted"


def _target(process: Process, held: Mapping[int, int | None]) -> Target:
    """What both records hold, and the GPUs on which it holds this memory."""
    gpus = tuple(sorted(held or set(process.devices)))
    gpu_bytes = sum(used or 0 for used in held.values()) or None
    return replace(convert(process, Target, from_attributes=True), gpus=gpus, gpu_bytes=gpu_bytes)


class StopPlanner(Planner):
    """Key k, `hangtop stop`."""

    waits_for = ("processes", "gpus")

    def plan(self, state: RunState, request: Request, asked: Sequence[Ask]) -> Plan | Refusal:
        made = stop_plan(state, request.me, request.choices.rank, request.choices.pid)
        return doubted(made, request.verdict) if isinstance(made, Plan) else made
