"""Threads that do nothing but ask the kernel whether something has come, without ever sleeping: the reactor of a transport that
yields its core after each look (sched_yield(2)) takes a core, or what is left of it, as long as its process lives.

A thread that computes spends its time outside of the kernel; one that brings data has bytes in its calls, or pages to load."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from msgspec import Struct

from hangtop.records.waiting import ThreadWait
from hangtop.system.guard import Guard
from hangtop.system.processes.linux import TICKS_PER_S
from hangtop.system.processes.proc_files import fields_of, read_optional, read_proc
from hangtop.system.waits.blocked_call import MAX_THREADS

IN_KERNEL_PART = 0.5
"""Of its time. Loops of sched_yield were measured at 0.70 to 0.78, of hashes and of copies in memory at 0.0, of `os.stat` in
Python at 0.33."""
LEAST_TICKS = 5
"""Below this the clock of the kernel, which counts in ticks, tells nothing."""


class Spent(Struct, frozen=True):
    """What one thread has spent so far: ticks in its program and in the kernel, pages that it had to map (proc_pid_stat(5)), how
    often it went to sleep (proc_pid_status(5)), bytes that passed through its calls (proc_pid_io(5))."""

    user_ticks: int
    system_ticks: int
    faults: int
    sleeps: int
    bytes: int


class Polling(Struct, frozen=True):
    """The threads of one process that only polled, and the seconds that they took for it."""

    tids: tuple[int, ...]
    seconds: float


class Pollers:
    """Remembers only who does not answer."""

    def __init__(self) -> None:
        self._guard: Guard[int, Mapping[int, Spent]] = Guard()
        self._before: Mapping[int, Mapping[int, Spent]] = {}

    def begin(self, threads: Mapping[int, Collection[ThreadWait]]) -> None:
        """`threads`: by pid, as the first look saw them. Only processes of which one beside the first ran are watched."""
        running = [pid for pid, seen in threads.items() if any(each.call.state == "R" and each.call.tid != pid for each in seen)]
        self._before = self._guard.known({pid: partial(_runners, pid) for pid in running})

    def since(self) -> dict[int, Polling]:
        """By pid, what polled from then to now."""
        asked = {pid: partial(_spent, pid, tuple(threads)) for pid, threads in self._before.items() if threads}
        return {
            pid: polling for pid, after in self._guard.known(asked).items() if (polling := polled(self._before[pid], after)).tids
        }


def polled(before: Mapping[int, Spent], after: Mapping[int, Spent]) -> Polling:
    """Of the threads of one process between two looks."""
    ticks = {tid: _ticks(before[tid], after[tid]) for tid in before if tid in after and _only_polls(before[tid], after[tid])}
    return Polling(tuple(ticks), sum(ticks.values()) / TICKS_PER_S)


def _only_polls(before: Spent, after: Spent) -> bool:
    moved = after.faults != before.faults or after.bytes != before.bytes or after.sleeps != before.sleeps
    in_kernel, ticks = after.system_ticks - before.system_ticks, _ticks(before, after)
    return not moved and ticks >= LEAST_TICKS and in_kernel >= IN_KERNEL_PART * ticks


def _ticks(before: Spent, after: Spent) -> int:
    return after.user_ticks + after.system_ticks - before.user_ticks - before.system_ticks


def _runners(pid: int) -> Mapping[int, Spent]:
    """Its threads beside the first that run now. Raises `OSError`."""
    tids = [int(name) for name in os.listdir(f"/proc/{pid}/task")][:MAX_THREADS]
    return _spent(pid, [tid for tid in tids if tid != pid], only_running=True)


def _spent(pid: int, tids: Iterable[int], *, only_running: bool = False) -> Mapping[int, Spent]:
    """Threads that have ended, or of which the bytes may not be read, are left out."""
    told = {tid: _of_thread(f"/proc/{pid}/task/{tid}", only_running=only_running) for tid in tids}
    return {tid: spent for tid, spent in told.items() if spent is not None}


def _of_thread(folder: str, *, only_running: bool) -> Spent | None:
    try:
        field = read_proc(f"{folder}/stat").rpartition(b")")[2].split()
        if only_running and field[0] != b"R":
            return None
        status, io = fields_of(read_proc(f"{folder}/status")), read_optional(f"{folder}/io")
    except (FileNotFoundError, ProcessLookupError):
        return None
    if io is None:
        return None
    counters = fields_of(io)
    return Spent(
        user_ticks=int(field[11]),
        system_ticks=int(field[12]),
        faults=int(field[7]) + int(field[9]),
        sleeps=int(status["voluntary_ctxt_switches"]),
        bytes=int(counters["rchar"]) + int(counters["wchar"]),
    )
