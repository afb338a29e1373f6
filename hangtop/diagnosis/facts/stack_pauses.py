"""Which processes may be stopped for a moment, so that py-spy can read their frames of C code, and what is said before. Pure.

py-spy reads Python's frames and local variables from memory, without a stop; frames of C code only while the process is stopped
by ptrace (measured: 0.07 to 0.13 s each on a calm machine, 1.8 s at a load of 22).
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from hangtop.common.grouped import grouped
from hangtop.common.text import rank_ranges, some
from hangtop.records.process import Process, ProcessReading

USUAL_S, LONGEST_S = 0.1, 3.0
"""How long one process stands, and after how long its look is given up."""
STOPPABLE = "RSI"
"""A process that is blocked in the kernel, stopped, or traced does not come to the stop that py-spy waits for."""


class StackPauses(Struct, frozen=True):
    """`stop`: pid → start ticks of the processes that are proven to be the run's, and of its user. `left_out`: others that were
    asked for, with the reason in words."""

    stop: dict[int, int] = {}
    left_out: dict[int, str] = {}

    @property
    def said(self) -> str:
        """What will happen, before it happens."""
        if not self.stop:
            return "no process is stopped"
        who = some(len(self.stop), "process")
        each = "each of these" if len(self.stop) > 1 else "this"
        return f"stops {each} {who} for about {USUAL_S:g} s, at most {LONGEST_S:g} s: pid {rank_ranges(self.stop)}"

    @property
    def spared(self) -> tuple[str, ...]:
        """The processes that are read without a stop, by reason."""
        by_reason = grouped(self.left_out, self.left_out.__getitem__)
        return tuple(f"not stopped: pid {rank_ranges(pids)}, {reason}" for reason, pids in by_reason.items())


def pause(procs: ProcessReading | None, pids: Collection[int]) -> StackPauses:
    """Which of these pids may be stopped for a moment."""
    procs = procs or ProcessReading()
    known = {process.pid: process for process in procs.processes}
    writers = {writer.pid for writer in procs.writers if writer.alive}
    top = [process for process in procs.processes if process.pid in writers] or procs.processes[:1]
    owners = {process.uid for process in top}  # of what writes the log; of the topmost process where no writer is left
    reasons = {pid: _why_not(known.get(pid), bool(procs.taken), owners) for pid in pids}
    return StackPauses(
        {pid: known[pid].start_ticks for pid, reason in reasons.items() if reason is None},
        {pid: reason for pid, reason in reasons.items() if reason is not None},
    )


def _why_not(process: Process | None, taken: bool, owners: Collection[int | None]) -> str | None:
    if process is None:
        return "no process of the run on this machine is known by that number"
    if taken:
        return "only taken for the log's writer: --pid says for sure that it is the run"
    if not process.start_ticks:
        return "its start is not known, so that it may be another by now"
    if process.uid not in owners:
        return f"it belongs to {process.user or 'another user'}, not to the user of the run"
    if process.tracer_pid:
        return f"pid {process.tracer_pid} traces it already"
    return None if process.state in STOPPABLE else f"it is {process.doing}"
