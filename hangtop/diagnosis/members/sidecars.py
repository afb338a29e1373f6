"""Processes beside a run that write into its log for ever: a probe of a pod, a heartbeat, a monitor. Pure.

They are neither its life nor its end: the run is seen as if they were not there. That a process is such is told by its source,
and that others made the steps by the order of the log: its lines came between the steps, and it makes none."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hangtop.diagnosis.members.rank_numbering import serves
from hangtop.logs.extract.line_values import said_in
from hangtop.records.log import LogLine, LogReading
from hangtop.records.process import Process, ProcessReading
from hangtop.records.stack import Stack
from hangtop.stacks.loops import loop_outward
from hangtop.state.run_state import RunState


def without_sidecars(state: RunState) -> RunState:
    """The state without them, their lines, and the shells that only wait for them; unchanged where there are none."""
    log, procs = state.log, state.procs
    if log is None or procs is None or not log.repeats or not log.beats_in_course or log.moved_at == log.last_output_at:
        return state
    beside = sidecars(state)
    if not beside:
        return state
    beside |= _only_around(procs.processes, beside)
    words = said_in(log.repeats).words
    tail = tuple(line for line in state.tail if said_in(line.text).words != words)
    return replace(state, log=_quiet(log, tail), procs=_without(procs, beside), tail=tail, processes=_others(state, beside))


def sidecars(state: RunState) -> set[int]:
    """The pids of processes that only print for ever, at each look at them."""
    sources = [excerpt for look in state.looks for excerpt in look.excerpts]
    seen: dict[int, list[Stack]] = {}
    for stack in (stack for look in state.looks for stack in look.stacks if stack.threads):
        seen.setdefault(stack.pid, []).append(stack)
    return {
        pid
        for pid, stacks in seen.items()
        if all(len(stack.threads) == 1 and loop_outward(stack.threads[0].frames, sources) == "beats" for stack in stacks)
    }


def _only_around(processes: Iterable[Process], beside: set[int]) -> set[int]:
    """Shells and relays below which no other process of the run is left."""
    living = [process for process in processes if not process.exited]
    others = {process.pid: process for process in living if process.pid not in beside and not serves(process)}
    by_pid = {process.pid: process for process in living}
    above: set[int] = set()
    for process in others.values():
        parent = by_pid.get(process.ppid)
        while parent is not None and parent.pid not in above:
            above.add(parent.pid)
            parent = by_pid.get(parent.ppid)
    return {process.pid for process in living if serves(process) and process.pid not in above}


def _quiet(log: LogReading, tail: tuple[LogLine, ...]) -> LogReading:
    """The log up to the last line that told anything."""
    last = next((line.text for line in reversed(tail) if line.text.strip()), log.last_line)
    silent = replace(log, last_output_at=log.moved_at, news_at=None, clockwork_since=None, repeats="", beat_s=0.0, last_line=last)
    return replace(silent, beats_in_course=False, beats_untimed=False)


def _without(procs: ProcessReading, beside: set[int]) -> ProcessReading:
    return replace(
        procs,
        processes=tuple(process for process in procs.processes if process.pid not in beside),
        writers=tuple(writer for writer in procs.writers if writer.pid not in beside),
    )


def _others(state: RunState, beside: set[int]) -> dict[str, ProcessReading]:
    return {host: _without(reading, beside) if host == state.here else reading for host, reading in state.processes.items()}
