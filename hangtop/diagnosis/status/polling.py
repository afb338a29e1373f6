"""Processor time that is no work: threads of a library that only ask the kernel whether something has come, as long as their
process lives. Every process that uses the library has one, and those that wait for an answer have it too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from hangtop.diagnosis.status.by_waits import current_watch
from hangtop.records.process import Process
from hangtop.records.watched_waits import WatchedProcess
from hangtop.state.run_state import RunState


def without_polling(state: RunState) -> RunState:
    """The state, its processes without the time of such threads, as far as the last watch told of it. A thread with frames of
    Python is the program's own, and judged by its stack."""
    watch = current_watch(state)
    if watch is None or state.procs is None or not any(each.polls for each in watch.processes.values()):
        return state
    ours = {thread.tid for look in state.looks for stack in look.stacks for thread in stack.threads}
    polling = [each for each in watch.processes.values() if each.polls and ours.isdisjoint(each.polls)]
    left = {each.pid: each for each in polling}
    known = {process.pid: process for process in state.procs.processes}
    taken = {
        pid: max(0.0, (known[pid].cpu_percent or 0.0) - _percent(each, watch.reading.seconds))
        for pid, each in left.items()
        if pid in known and known[pid].start_ticks == each.start_ticks
    }
    told = tuple(_less(process, taken, known) for process in state.procs.processes)
    return replace(state, procs=replace(state.procs, processes=told))


def _percent(process: WatchedProcess, seconds: float) -> float:
    """What is left of its time, over the watch: one sample is of another second."""
    return 100 * max(0.0, process.cpu_s - process.polled_s) / seconds if seconds else 0.0


def _less(process: Process, taken: Mapping[int, float], known: Mapping[int, Process]) -> Process:
    """`taken`: by pid, percent of a core that is no work."""
    own = taken.get(process.pid, 0.0)
    below = own + sum(percent for pid, percent in taken.items() if process.pid in _above(pid, known))
    if not below:
        return process
    recent = process.recent
    if recent is not None and recent.cpu_percent is not None:
        recent = replace(recent, cpu_percent=max(0.0, recent.cpu_percent - own))
    return replace(
        process,
        recent=recent,
        cpu_percent=None if process.cpu_percent is None else max(0.0, process.cpu_percent - own),
        subtree_cpu_percent=None if process.subtree_cpu_percent is None else max(0.0, process.subtree_cpu_percent - below),
    )


def _above(pid: int, known: Mapping[int, Process]) -> Iterable[int]:
    """The processes that count its time in theirs."""
    at = known.get(pid)
    while at is not None and (at := known.get(at.ppid)) is not None:
        yield at.pid
