"""Everything known of each rank, joined by rank number. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from hangtop.common.memo import memoized
from hangtop.common.text import some
from hangtop.diagnosis.members.rank_gpus import bytes_held, gpu_of_rank
from hangtop.diagnosis.members.rank_numbering import by_order, dead, runs_alike, said, siblings, with_parent
from hangtop.diagnosis.members.ray_hosts import host_names, near
from hangtop.diagnosis.members.ray_ownership import rank_actors
from hangtop.diagnosis.status import ray_methods
from hangtop.diagnosis.status.kernel_block import is_blocked
from hangtop.records.log import LogReading, RankLog
from hangtop.records.nodes import pid_there
from hangtop.records.parallel_layout import ParallelLayout, Place, by_arguments, by_title, places
from hangtop.records.process import Process, ProcessReading, exit_words
from hangtop.records.rank import Rank
from hangtop.records.ray.cluster import RayActor
from hangtop.records.ray.titles import parse_title
from hangtop.records.stack import Stack
from hangtop.stacks.activity import Activity, activity_of
from hangtop.stacks.loops import goes_round, looks_after
from hangtop.stacks.process_groups import awaits_children, entries, meet, takes_part
from hangtop.state.run_state import RunState

BEHIND_STEPS = 2
"""From so many steps on a rank is behind. Asynchronous loggers print a step apart."""
SAME_MOMENT_S = 2.0
"""Stacks of many ranks take a while, and so does a line on its way."""
NOT_JOINED = "has not joined its peers at the master port"


class KnownOfRanks(Struct, frozen=True):
    """What the sources say, sorted so that each rank is found at once. A stack belongs to a pid and start ticks."""

    host: dict[int, str]
    process: dict[int, Process]
    actor: dict[int, RayActor]
    absent: frozenset[int]
    stacks: dict[tuple[int, int], Stack]
    far: dict[int, Stack]
    held: dict[str, dict[int, dict[int, int]]]
    furthest: int | None
    ordered: frozenset[int]
    places: Mapping[int, Place]
    names: Mapping[str, str]


@memoized
def join_ranks(state: RunState) -> tuple[Rank, ...]:
    """One record for each rank that any source knows, by number."""
    known = _known(state)
    numbers = sorted({*state.ranks, *known.process, *known.actor})
    return tuple(_rank(state, state.ranks.get(number) or RankLog(number), known) for number in numbers)


def _known(state: RunState) -> KnownOfRanks:
    readings = state.processes or ({"": state.procs} if state.procs is not None else {})
    near_by = near(state, state.ranks.values())
    told = {log.pid: log.rank for log in near_by if log.pid is not None} or _said_ranks(state, readings)
    order = {} if told else _by_order(state, readings)
    host, process = _processes(readings, told or order)
    met = [reading.rendezvous for reading in readings.values() if reading.rendezvous is not None]
    looks = [stack for look in state.looks for stack in look.stacks if _still_holds(stack, state)]
    far = state.far_stacks.stacks if state.far_stacks is not None else ()
    return KnownOfRanks(
        host=host,
        process=process,
        actor=rank_actors(state),
        absent=frozenset(rank for rendezvous in met if rendezvous.joined for rank in rendezvous.missing),
        stacks={(stack.pid, stack.started_ticks): stack for stack in looks},
        far={stack.rank: stack for stack in far if stack.rank is not None and _still_holds(stack, state)},
        held={
            host: bytes_held(state.gpus[host].reading.gpus, reading.processes)
            for host, reading in readings.items()
            if host in state.gpus
        },
        furthest=max((log.step for log in state.ranks.values() if log.step is not None), default=None),
        ordered=frozenset(order),
        places=_places(state, process, readings.values()),
        names=host_names(state),
    )


def _places(state: RunState, process_of: Mapping[int, Process], readings: Collection[ProcessReading]) -> dict[int, Place]:
    """The place of each rank, from the log, else from the arguments of the ranks or of their launcher, else from the titles of
    the ranks."""
    log, processes = state.log or LogReading(files=()), process_of.values()
    worlds = (log.world, *(rank.world for rank in state.ranks.values()), *(process.world for process in processes))
    world = max(filter(None, worlds), default=None)
    said = places(log.mesh, world) if log.mesh is not None else {}
    said = said or places(by_arguments({process.command for each in readings for process in each.processes}), world)
    titles = {rank: told for rank, process in process_of.items() if (told := by_title(process.command))}
    return said or places(ParallelLayout(told=titles), world)


def _still_holds(stack: Stack, state: RunState) -> bool:
    """A stack from before the run last spoke tells what it did then, not what it does now."""
    spoke_at = state.log.last_output_at if state.log is not None else None
    return bool(stack.threads) and (spoke_at is None or stack.at >= spoke_at - SAME_MOMENT_S)


def _processes(readings: Mapping[str, ProcessReading], number_of: Mapping[int, int]) -> tuple[dict[int, str], dict[int, Process]]:
    """Host and process of each rank, by its environment, else by this table from pids.

    A living process hides an ended one, and one with a parent hides an orphan: a rank's stray children carry its number as
    well.
    """
    hosts: dict[int, str] = {}
    found: dict[int, Process] = {}
    for host, reading in readings.items():
        for process in (*reading.ended, *reading.processes):
            number = process.rank if process.role == "rank" else None if process.rank is not None else number_of.get(process.pid)
            if number is None:
                continue
            other = found.get(number)
            if other is None or (not process.exited and (other.exited or not _is_orphan(process) or _is_orphan(other))):
                hosts[number], found[number] = host, process
    return hosts, found


def _is_orphan(process: Process) -> bool:
    return pid_there(process.ppid) == 1


def _said_ranks(state: RunState, readings: Mapping[str, ProcessReading]) -> dict[int, int]:
    """Rank by pid of processes on this machine without a number in their environment: the numbers that they tell otherwise,
    and the dead among the ranks."""
    processes = _only_here(readings)
    ranks = {process.rank: process for process in processes if process.role == "rank" and process.rank is not None}
    if ranks:
        world = max((process.world or 0 for process in ranks.values()), default=0) or _least(state)
        return dead(processes, ranks, world) or _first_of(state, processes, ranks, world)
    numbers = said(processes)
    here = {numbers[process.pid]: process for process in processes if process.pid in numbers}
    return numbers | dead(processes, here, _least(state))


def _first_of(state: RunState, processes: Collection[Process], ranks: Mapping[int, Process], world: int | None) -> dict[int, int]:
    """The parent of all numbered ranks as rank 0, where that alone is missing: it runs the program of the others with a number
    that it needs not tell itself, and neither waits for their end nor only looks whether they live."""
    parents = {process.ppid for process in ranks.values()}
    first = next((process for process in processes if parents == {process.pid}), None)
    if first is None or not all(runs_alike(first, rank) for rank in ranks.values()) or set(ranks) != set(range(1, world or 0)):
        return {}
    stacks = {stack.pid: stack for look in state.looks for stack in look.stacks if stack.threads}
    children = [stacks[process.pid] for process in ranks.values() if process.pid in stacks]
    sources = [excerpt for look in state.looks for excerpt in look.excerpts]
    above = stacks.get(first.pid)
    if above is None or awaits_children(above, children) or goes_round(above, sources):
        return {}
    return {first.pid: 0}


def _only_here(readings: Mapping[str, ProcessReading]) -> tuple[Process, ...]:
    """The processes where one machine is known: on several the order of their start tells nothing."""
    return next(iter(readings.values())).processes if len(readings) == 1 else ()


def _by_order(state: RunState, readings: Mapping[str, ProcessReading]) -> dict[int, int]:
    """Rank by pid where nothing else tells it: not the environment, the pid that the log names, or what a process says itself."""
    processes = _only_here(readings)
    if any(process.role == "rank" for process in processes):
        return {}
    stacks = {stack.pid: stack for look in state.looks for stack in look.stacks if stack.threads}
    world, least = max((log.world for log in state.ranks.values() if log.world is not None), default=None), _least(state) or 0
    group = siblings(processes, world or least or None, entries(stacks.values()))
    launcher = next((process for process in processes if group and process.pid == group[0].ppid), None)
    children = [stacks[process.pid] for process in group if process.pid in stacks]
    above = stacks.get(launcher.pid) if launcher is not None else None
    sources = [excerpt for look in state.looks for excerpt in look.excerpts]
    watches = above is not None and looks_after(above, children, sources)
    parent, count = None if watches else launcher, world or least
    if above is not None and count <= 1 and not watches and takes_part(above, children):
        count = len(group) + 1
    return by_order(with_parent(group, parent, count), world, least, meets=meet(children))


def _least(state: RunState) -> int | None:
    """How many ranks there are by the log: as many at least as its highest number says."""
    return max((log.world or log.rank + 1 for log in state.ranks.values()), default=None)


def _rank(state: RunState, log: RankLog, known: KnownOfRanks) -> Rank:
    process, actor = known.process.get(log.rank), known.actor.get(log.rank)
    lag = None if log.step is None or known.furthest is None else known.furthest - log.step
    absent = log.step is None and log.rank in known.absent
    title = None if process is None else parse_title(process.command)
    method = actor.method if actor else title.method if title else None
    cls = actor.cls if actor else title.cls if title else ""
    return Rank(
        rank=log.rank,
        world=log.world or (process.world if process else None) or (actor.world if actor else None),
        host=known.names.get(log.host or "", log.host) or known.host.get(log.rank) or (actor.host if actor else None) or None,
        pid=process.pid if process else log.pid or (actor.pid if actor else None),
        started_at=process.started_at if process else None,
        gpu=_gpu(state, log, known),
        actor=log.actor or (actor.cls if actor else None) or (title.cls if title else None),
        stage=(ray_methods.stage(cls, method) if method else None) or log.stage,
        step=log.step,
        total=log.total,
        step_s=log.step_s,
        lag=lag,
        last_at=log.last_at,
        lines=log.lines,
        metrics=log.metrics,
        cpu_percent=process.cpu_percent if process else actor.cpu_percent if actor else None,
        state=process.state if process else actor.process_state if actor else None,
        wchan=process.wchan if process else None,
        shorter=_shorter(process, known, method),
        doing=_doing(log.rank, process, known, ray_methods.in_words(cls, method) if method else None),
        why="; ".join(_reasons(process, lag, absent)) or None,
        absent=absent,
        process=process,
        by_order=process is not None and process.pid in known.ordered,
        place=known.places.get(log.rank, ()),
    )


def _gpu(state: RunState, log: RankLog, known: KnownOfRanks) -> int | None:
    """The GPU where it and the processes below it hold most memory; else the one that Ray gave it, else as its process tells."""
    rank = log.rank
    host, process, actor = known.host.get(rank, ""), known.process.get(rank), known.actor.get(rank)
    if held := known.held.get(host, {}).get(rank):
        return max(held, key=lambda index: held[index])
    if actor is not None and len(actor.gpus) == 1:
        return actor.gpus[0]
    if process is None:
        return None
    node = state.gpus.get(host) or (next(iter(state.gpus.values())) if not host and len(state.gpus) == 1 else None)
    local_rank = process.local_rank if process.local_rank is not None else log.local_rank
    return gpu_of_rank(process, local_rank, () if node is None else node.reading.gpus)


def _doing(rank: int, process: Process | None, known: KnownOfRanks, method: str | None) -> str | None:
    """Its state when that says all; else its stack, else the method that Ray runs in it."""
    if process is None:
        there = activity_of(known.far[rank]) if rank in known.far else None
        return f"{there.text} ({there.where})" if there is not None else method
    if process.state == "X":
        return "ended" if process.exit_code is None else exit_words(process.exit_code)
    if _state_says_all(process):
        return process.doing
    now = _at_last_look(process, known)
    return f"{now.text} ({now.where})" if now is not None else method


def _state_says_all(process: Process) -> bool:
    """A process that is stopped, ended or blocked does nothing else. One in D that moves bytes is at work: it loads, or saves."""
    moves = bool(process.read_b_s or process.write_b_s)
    return process.state not in "RSI" and not (process.state == "D" and moves)


def _shorter(process: Process | None, known: KnownOfRanks, method: str | None) -> tuple[str, ...]:
    """`_wait_for_shard fleet.py:88`, `_wait_for_shard`: where a sentence has no room. Few states have a shorter word."""
    if process is not None and _state_says_all(process):
        if process.state == "D":
            return ("in kernel",)
        said = exit_words(process.exit_code) if process.exited and process.exit_code is not None else ""
        return (said, said.removeprefix("killed by ")) if said else ()
    now = _at_last_look(process, known)
    return (f"{now.function} {now.where}", now.function) if now is not None else (method,) if method else ()


def _at_last_look(process: Process | None, known: KnownOfRanks) -> Activity | None:
    if process is None:
        return None
    stack = known.stacks.get((process.pid, process.start_ticks)) or known.stacks.get((process.pid, 0))
    return activity_of(stack) if stack is not None else None


def _reasons(process: Process | None, lag: int | None, absent: bool) -> Iterable[str]:
    """The facts by which a rank stands out, the surest first."""
    if process is not None:
        if process.exited:
            yield "its process ended" if process.exit_code is None else f"its process ended: {exit_words(process.exit_code)}"
        elif process.state in "Tt" or is_blocked(process):
            yield process.doing
    if absent:
        yield NOT_JOINED
    if lag is not None and lag >= BEHIND_STEPS:
        yield f"{some(lag, 'step')} behind"
