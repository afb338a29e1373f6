"""One look at one process: each part for itself, so that a part that is refused or does not answer leaves the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar, cast

from hangtop.common.clean_text import clean_text
from hangtop.common.clean_words import command_line
from hangtop.records.inspection import InspectedThread, Inspection, MemoryUse, Refused
from hangtop.records.waiting import ThreadWait
from hangtop.system import ptrace_permission
from hangtop.system.guard import Guard
from hangtop.system.one_process.group_limits import group_limits
from hangtop.system.one_process.held_files import HeldFiles, held_files
from hangtop.system.one_process.kernel_stack import kernel_stack
from hangtop.system.one_process.limits_used import limits_used
from hangtop.system.one_process.memory_use import mapped_files, memory_use
from hangtop.system.one_process.placement import placement
from hangtop.system.processes.linux import TICKS_PER_S, parse_stat, read_stat
from hangtop.system.processes.proc_files import read_proc, status_of
from hangtop.system.processes.table import ProcessTable
from hangtop.system.waits.blocked_call import thread_ids
from hangtop.system.waits.holders import Held
from hangtop.system.waits.wait_reader import WaitReader

PATIENCE_S = 2.0
MOST_THREADS = 64
"""A rank has hundreds that sleep in a pool: those that stand elsewhere come first."""
GONE = "the process is gone"
ROOT_ONLY = "only root sees where a thread stands in the kernel"

Part = TypeVar("Part")


class Inspector:
    """Remembers only who does not answer. Linux alone."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._parts: Guard[tuple[int, str], Any] = Guard(PATIENCE_S)
        self._holders: Guard[int, tuple[Held, ...]] = Guard()
        self._waits = WaitReader(table)

    def inspect(self, ask: int, pid: int, start_ticks: int, now: float) -> Inspection:
        """`start_ticks`: of the process that is meant, 0 for whoever has this pid. Every part may be refused; never raises."""
        stat = read_stat(pid)
        if stat is None or (start_ticks and stat.start_ticks != start_ticks):
            return Inspection(ask, pid, start_ticks, now, problem=GONE)
        self._table.refresh((pid,))
        refused: list[Refused] = []
        part = partial(self._part, pid, refused)
        status = status_of(pid)
        memory = memory_use(status)
        held = part("files", lambda: held_files(pid, self._table, self._holders), HeldFiles())
        number_of_files = len(held.files) + held.left_out or None
        nobody: tuple[tuple[InspectedThread, ...], int] = ((), 0)
        threads, left_out = self._part(pid, refused, "threads", lambda: self._threads(pid, refused), nobody)
        uid = status.get("Uid", "").split()[1:2]
        no_words: tuple[str, ...] = ()
        command = self._part(pid, refused, "command", lambda: self._table.command(pid), no_words)
        answer = Inspection(
            ask,
            pid,
            stat.start_ticks,
            now,
            name=clean_text(stat.name),
            command=command_line(command) if command else "",
            folder=clean_text(part("folder", lambda: self._table.cwd(pid), "")),
            uid=int(uid[0]) if uid else None,
            environment=part("environment", lambda: _cleaned(self._table.environ(pid).items()), {}),
            limits=limits_used(pid, status, memory, number_of_files),
            memory=memory if memory != MemoryUse() else None,
            mapped=part("mapped files", lambda: mapped_files(pid), ()),
            files=held.files,
            files_left_out=held.left_out,
            sockets=held.sockets,
            group=group_limits(pid),
            placement=placement(status),
            threads=threads,
            threads_left_out=left_out,
            others=self._others({pid for file in held.files for pid in file.end.pids} | _awaited(threads)),
            refused=tuple(refused),
        )
        after = read_stat(pid)
        same = after is not None and after.start_ticks == stat.start_ticks
        return answer if same else Inspection(ask, pid, start_ticks, now, problem=GONE)

    def _part(self, pid: int, refused: list[Refused], name: str, read: Callable[[], Part], nothing: Part) -> Part:
        """One part, or `nothing` and a line on why."""
        answer = self._parts.ask({(pid, name): read}).get((pid, name))
        if answer is None:
            refused.append(Refused(name, f"the process does not answer within {PATIENCE_S:g} s"))
            return nothing
        if isinstance(answer, PermissionError):
            why, mend = ptrace_permission.refusal(ptrace_permission.ptrace_permission(pid), ("hangtop", "inspect", str(pid)))
            refused.append(Refused(name, why, mend))
            return nothing
        if isinstance(answer, OSError):
            refused.append(Refused(name, answer.strerror or str(answer)))
            return nothing
        return cast("Part", answer)

    def _others(self, pids: Iterable[int]) -> dict[int, str]:
        """Their commands, as far as they answer."""
        names = {pid: stat.name for pid in pids if (stat := self._table.stats.get(pid)) is not None}
        told = self._parts.known({(pid, "command"): partial(self._table.command, pid) for pid in names})
        return {pid: command_line(told.get((pid, "command")) or ()) or f"[{clean_text(name)}]" for pid, name in names.items()}

    def _threads(self, pid: int, refused: list[Refused]) -> tuple[tuple[InspectedThread, ...], int]:
        """Those that stand elsewhere than in a futex first, the main thread before all; raises `OSError`."""
        there = len(thread_ids(pid))
        waits = {wait.call.tid: wait for wait in self._waits.look((pid,), every_thread=True, counters=False).threads}
        shown = sorted(waits.values(), key=lambda wait: (wait.call.tid != pid, wait.call.kind == "futex", wait.call.tid))
        threads = []
        denied = False
        for wait in shown[:MOST_THREADS]:
            try:
                kernel: tuple[str, ...] = kernel_stack(pid, wait.call.tid)
            except PermissionError:
                kernel, denied = (), True
            except OSError:  # the thread has ended
                continue
            if (thread := _thread(pid, wait, kernel)) is not None:
                threads.append(thread)
        if denied:
            refused.append(Refused("kernel stacks", ROOT_ONLY, f"sudo hangtop inspect {pid}"))
        return tuple(threads), max(0, there - len(threads))


def _thread(pid: int, wait: ThreadWait, kernel: tuple[str, ...]) -> InspectedThread | None:
    """`None`: it has ended."""
    try:
        stat = parse_stat(read_proc(f"/proc/{pid}/task/{wait.call.tid}/stat"))
    except OSError:
        return None
    return InspectedThread(clean_text(stat.name), wait, stat.cpu_ticks / TICKS_PER_S, kernel)


def _awaited(threads: Iterable[InspectedThread]) -> set[int]:
    return {pid for thread in threads for end in thread.wait.ends for pid in end.pids}


def _cleaned(environ: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {clean_text(name): clean_text(value) for name, value in sorted(environ)}
