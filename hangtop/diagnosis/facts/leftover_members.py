"""What a run that ended has left behind on this machine: processes, what they hold on GPUs, shared memory and files. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.text import numbered, size, some
from hangtop.diagnosis.members.rank_gpus import memory_of
from hangtop.records.nodes import pid_there
from hangtop.records.plan import Removal
from hangtop.records.process import Process, ProcessReading, ProcessRole
from hangtop.records.verdict import Evidence, Verdict
from hangtop.state.run_state import RunState

MAKER = re.compile(r"/(?:torch_|session_[\d_-]+_)(?P<pid>\d+)(?:_[^/]*)?$")
"""PyTorch's shared memory and Ray's session folders bear the pid of their maker (Ray: the driver that called `ray.init()`). The
time alone proves nothing: a path made then may be of any run."""
STARTED_WITHIN_S = 5.0
"""A launcher's own parts start after it; clocks of starts differ by so much at most."""
SOURCE = "left"
CLEAN, STOP = ("c", "clean leftovers"), ("k", "stop what is left")
PARTS: frozenset[ProcessRole] = frozenset(("rank", "data worker", "ray worker", "engine core", "compiler"))
"""Roles of processes that cannot be a run of their own: who started them must live, or they are left over."""


class LeftoverMembers(Struct, frozen=True):
    """`gpus`: index → bytes that these processes hold there, where the driver tells. `files`: what nobody uses any more.

    `seen`: the processes are proven to be the run's: seen while it ran, or workers of its own Ray job; else they lost their
    parent and point at its log.
    """

    processes: tuple[Process, ...] = ()
    gpus: dict[int, int] = {}
    files: tuple[Removal, ...] = ()
    seen: bool = True


def leftovers(state: RunState, *, over: bool = False) -> LeftoverMembers:
    """Of the run whose writers are gone: its own processes that did not end with it.

    Where it was seen running only what was seen in its tree counts: another run's orphans are no trace of this one, and what its
    shell started afterwards goes on rightly, as do launchers and a Ray that lives. Of a run that had ended before, orphans that
    point at its log, or are taken for its writers: these may be another run's, and are told so; and workers of its own Ray
    session. `over`: the log says that the run ended; then ranks and engines that nobody looks after are left over also when they
    still hold the log. Files are known once the probe was asked for them.
    """
    procs = state.procs
    if procs is None:
        return LeftoverMembers()
    living = {writer.pid for writer in procs.writers if writer.alive}
    lost = {process.pid for process in procs.processes if lost_its_parent(process)}
    if living and not (over and living <= lost):
        return LeftoverMembers()
    if procs.writers:
        since = min(writer.started_at for writer in procs.writers) - STARTED_WITHIN_S
        until = float("inf") if living else max(writer.gone_at or 0.0 for writer in procs.writers)
        left = (process for process in procs.processes if since <= process.started_at <= until)
        processes = tuple(process for process in left if _is_left(process, procs))
    else:
        detached = (process for process in procs.processes if process.pid in lost or _outlives_its_driver(process, procs))
        processes = (*detached, *(process for process in procs.orphans if process.pid in procs.pointing))
        since = min((process.started_at for process in processes), default=float("inf")) - STARTED_WITHIN_S
    found = state.leftovers.found if state.leftovers is not None else ()
    makers = {writer.pid for writer in procs.writers} | {process.pid for process in (*procs.processes, *procs.ended)}
    marked = ((file, MAKER.search(file.path)) for file in found if file.newest_at >= since)
    files = tuple(file for file, maker in marked if maker is not None and int(maker["pid"]) in makers)
    proven = bool(procs.writers) or all(_outlives_its_driver(process, procs) for process in processes)
    return LeftoverMembers(processes, _gpu_bytes(state, procs, processes), files, seen=proven)


def _gpu_bytes(state: RunState, procs: ProcessReading, processes: Iterable[Process]) -> dict[int, int]:
    """By GPU index what these hold there; on another machine the pids are other people's."""
    held: dict[int, int] = {}
    for host, node in state.gpus.items():
        on_gpus = memory_of(node.reading.gpus) if state.processes.get(host) is procs else {}
        for process in processes:
            for index, used in on_gpus.get(process.pid, {}).items():
                held[index] = held.get(index, 0) + (used or 0)
    return held


def lost_its_parent(process: Process) -> bool:
    return pid_there(process.ppid) == 1 and process.role in PARTS and not process.exited


def _outlives_its_driver(process: Process, procs: ProcessReading) -> bool:
    """A worker of the run's own Ray job, whose driver is gone: a detached actor."""
    return process.pid in procs.of_ray and not process.exited


def _is_left(process: Process, procs: ProcessReading) -> bool:
    if process.exited or process.role in ("launcher", "ray daemon"):
        return False
    return process.role != "ray worker" or any(process.pid == orphan.pid for orphan in procs.orphans)


def with_leftovers(state: RunState, verdict: Verdict) -> Verdict:
    """The verdict of a run that ended, with what it left behind as evidence and the key that cleans it up. Detached actors whose
    driver is gone are told of a stalled run, too: they hold its GPUs, and their session lives on."""
    left = leftovers(state, over=True)
    detached = state.procs is not None and any(_outlives_its_driver(process, state.procs) for process in left.processes)
    if not verdict.state.ended and not (verdict.word == "stalled" and detached):
        return verdict
    said = tuple(Evidence(SOURCE, text) for text in (_processes(left), _files(left)) if text)
    if not said:
        return verdict
    held = state.procs is not None and any(writer.alive for writer in state.procs.writers)
    pids = {process.pid for process in left.processes}
    tended = any(
        process.ppid not in pids and pid_there(process.ppid) != 1 for process in left.processes
    )  # as a raylet looks after detached actors
    key = STOP if held or tended else CLEAN  # a clean-up takes only what has lost its parent
    return replace(verdict, evidence=(*verdict.evidence, *said), next=(*verdict.next, key))


def _processes(left: LeftoverMembers) -> str:
    """`1 process is left, with 1.2 G on GPU 6, 5.9 G of memory: pid 133902 VLLM::EngineCore`."""
    if not left.processes:
        return ""
    more = len(left.processes) - 1
    memory, on_gpus = sum(process.rss_bytes or 0 for process in left.processes), sum(left.gpus.values())
    gpus = f"{size(on_gpus) if on_gpus else 'memory'} on {numbered('GPU', left.gpus)}" if left.gpus else ""
    holds = ", ".join(part for part in (gpus, f"{size(memory)} of memory" if memory else "") if part)
    number = f"{some(more + 1, 'process')} {'are' if more else 'is'}"
    first = left.processes[0]
    what = "left" if left.seen else "without a parent, perhaps left by this run"
    named = f"pid {first.pid} {first.name}{f' and {more} more' if more else ''}"
    return f"{number} {what}{f', with {holds}' if holds else ''}: {named}"


def _files(left: LeftoverMembers) -> str:
    """`2 paths are left, 4.1 G: shared memory /dev/shm/nccl-x and 1 more`."""
    if not left.files:
        return ""
    held = sum(file.allocated_bytes for file in left.files)
    first, more = left.files[0], len(left.files) - 1
    number = f"{some(len(left.files), 'path')} {'are' if more else 'is'} left"
    return f"{number}{f', {size(held)}' if held else ''}: {first.kind} {first.path}{f' and {more} more' if more else ''}"
