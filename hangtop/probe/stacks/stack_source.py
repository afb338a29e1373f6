"""The stacks source: dumps Python stacks on a question. Stops no process except those that a person agreed to."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hangtop.diagnosis.facts.stack_pauses import STOPPABLE
from hangtop.probe.context import ProbeContext
from hangtop.probe.source import Source
from hangtop.probe.stacks import pyspy, source_lines
from hangtop.probe.stacks.loop_timers import in_event_loop, moments_in_c, with_timers
from hangtop.records.ask import StacksAsk
from hangtop.records.nodes import node_of
from hangtop.records.reading import Value
from hangtop.records.stack import Stack, StacksReading, Thread
from hangtop.system import ptrace_permission
from hangtop.system.network.connections import LISTEN, read_connections
from hangtop.system.processes.kernel_threads import kernel_thread
from hangtop.system.processes.linux import parse_stat
from hangtop.system.processes.proc_files import status_of
from hangtop.system.processes.table import Stat

if TYPE_CHECKING:
    from hangtop.probe.nodes.node_stacks import NodeStacks

SIGUSR1_CAUGHT = 0x200
"""Bit of SIGUSR1 (10) in SigCgt of /proc/PID/status, proc(5)."""
GONE = "the process is gone"
NO_PYTHON = "not a Python process, or its interpreter cannot be read"


class StackSource(Source):
    """Answers `StacksAsk`. Never dumps by itself, because a dump costs CPU."""

    deadline_s = 2 * pyspy.LIMIT_S

    def __init__(self, context: ProbeContext) -> None:
        self._context = context

    def answer(self, ask: StacksAsk, now: float) -> Iterable[Value]:
        """Each stack as soon as it is there, then the source lines of the user's frames. All nodes are asked at once."""
        away = tuple(pid for pid in ask.pids if node_of(pid))
        if not away:
            return answer_stacks(ask, now)
        from hangtop.probe.nodes.node_stacks import NodeStacks

        return _with_others(ask, now, NodeStacks(self._context.nodes, ask.ask, away))


def _with_others(ask: StacksAsk, now: float, others: NodeStacks) -> Iterator[StacksReading]:
    """The parts of the answer here and elsewhere. The look is done when both are."""
    began = time.monotonic()
    here = replace(ask, pids=tuple(pid for pid in ask.pids if not node_of(pid)))
    for part in answer_stacks(here, now):
        yield replace(part, asked=ask.pids if part.asked else (), done=False)
    far = []
    for stack in others.answers():
        far.append(replace(stack, at=stack.at or now))
        yield StacksReading(ask.ask, stacks=(far[-1],))
    yield StacksReading(ask.ask, done=True, took_s=round(time.monotonic() - began, 3))
    if lines := source_lines.around(far, others.sources):
        yield StacksReading(ask.ask, excerpts=lines)


def answer_stacks(ask: StacksAsk, now: float) -> Iterator[StacksReading]:
    """The parts of the answer. No process is waited for longer than 3 s."""
    began = time.monotonic()
    first = StacksReading(ask.ask, ask.pids, started_at=now, locals=ask.locals)
    tool = pyspy.find()
    if tool is None:
        mend = f"{sys.executable} -m pip install py-spy"
        yield replace(first, done=True, took_s=0.0, problem="py-spy not found", mend=mend)
        return
    stacks = []
    known = {pid: _stat(pid) for pid in dict.fromkeys(ask.pids)}
    ended = {pid: problem for pid, stat in known.items() if (problem := _ended(stat))}
    yield replace(first, stacks=tuple(Stack(pid, now, problem=problem) for pid, problem in ended.items()))
    living = {pid: stat for pid, stat in known.items() if pid not in ended}

    def command_of(pid: int) -> tuple[str, ...]:
        return pyspy.command(tool, pid, native=_may_stop(pid, ask.stop.get(pid)), with_locals=ask.locals)

    loops: dict[int, Stack] = {}
    for dump in pyspy.dumps(living, command_of):
        stack = stack_of(dump, living[dump.pid], now + time.monotonic() - began)
        stacks.append(stack)
        if in_event_loop(dump):
            loops[dump.pid] = stack
        else:
            yield StacksReading(ask.ask, stacks=(stack,))
    for dump in pyspy.dumps(loops, lambda pid: pyspy.command(tool, pid, with_locals=True)):
        yield StacksReading(ask.ask, stacks=(with_timers(loops[dump.pid], dump),))
    yield StacksReading(ask.ask, done=True, took_s=round(time.monotonic() - began, 3))
    if lines := source_lines.around(stacks):
        yield StacksReading(ask.ask, excerpts=lines)


def take_stacks(
    pids: Iterable[int], now: float, stop: Mapping[int, int], *, with_locals: bool = False
) -> Iterator[StacksReading]:
    """The same without a probe, for commands that end afterwards. `stop`: as in `StacksAsk`."""
    return answer_stacks(StacksAsk(next(_numbers), tuple(pids), dict(stop), with_locals), now)


_numbers = count(1)


def stack_of(dump: pyspy.Dump, stat: Stat | None, at: float) -> Stack:
    """One process as py-spy saw it, with the kernel's state of its threads."""
    started_ticks, state = (stat.start_ticks, stat.state) if stat else (0, None)
    signal_dump, stopped = _signal_dump(dump.pid), "--native" in dump.argv
    stack = Stack(dump.pid, at, started_ticks=started_ticks, state=state, stopped=stopped, signal_dump=signal_dump)
    if dump.error is None:
        return replace(stack, threads=tuple(_thread(dump.pid, thread) for thread in dump.threads), listens=_listens(dump.pid))
    problem, mend = _reason(dump)
    return replace(stack, problem=problem, mend=mend)


def _thread(pid: int, spied: pyspy.SpyThread) -> Thread:
    stands = kernel_thread(pid, spied.os_thread_id) if spied.os_thread_id else kernel_thread(pid, pid)
    timers = moments_in_c(pid, spied)
    return replace(pyspy.thread(spied), state=stands.state, wait=stands.wait, wchan=stands.wchan, timers=timers)


def _listens(pid: int) -> bool:
    """Whether it has a listening TCP socket. False also where that may not be seen."""
    try:
        held = {link[8:-1] for entry in os.scandir(f"/proc/{pid}/fd") if (link := _link(entry.path)).startswith("socket:[")}
        return bool(held) and any(each.state == LISTEN and str(each.inode) in held for each in read_connections(pid))
    except OSError:
        return False


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:  # closed meanwhile
        return ""


def _may_stop(pid: int, start_ticks: int | None) -> bool:
    """Whether this is still the process that a person agreed to stop, and it can be stopped."""
    stat = _stat(pid) if start_ticks else None
    return stat is not None and stat.start_ticks == start_ticks and stat.state in STOPPABLE and _tracer(pid) is None


def _reason(dump: pyspy.Dump) -> tuple[str, str | None]:
    """Why there is no stack, and the command that permits it."""
    error = dump.error or ""
    if ended := _ended(_stat(dump.pid)):
        return ended, None
    if (tracer := _tracer(dump.pid)) is not None:
        return f"pid {tracer} traces it: a debugger, or another look at it", None
    if "permission denied" in error.lower() or "not permitted" in error.lower():
        return ptrace_permission.refusal(ptrace_permission.ptrace_permission(dump.pid), dump.argv)
    if "find python version" in error:
        return NO_PYTHON, None
    return f"py-spy: {error}", None


def _ended(stat: Stat | None) -> str | None:
    if stat is None:
        return GONE if sys.platform.startswith("linux") else None
    return "a zombie: it has ended, and its parent has not asked for its exit code" if stat.state == "Z" else None


def _stat(pid: int) -> Stat | None:
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_bytes())
    except OSError:  # gone, or no /proc on this system
        return None


def _signal_dump(pid: int) -> bool:
    """Whether SIGUSR1 has a handler, which may be faulthandler's. Without one the signal would end the process."""
    return bool(int(status_of(pid).get("SigCgt", "0"), 16) & SIGUSR1_CAUGHT)


def _tracer(pid: int) -> int | None:
    """The process that traces this one: a debugger, or another py-spy."""
    return int(status_of(pid).get("TracerPid", "0")) or None
