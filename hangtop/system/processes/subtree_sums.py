"""Sums over a process and its descendants, by which launchers and parents of compilers are judged. Pure."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.process import Process


class SubtreeSums(Struct):
    """Sums of a process and its descendants. `None`: not known of any of them."""

    size: int
    cpu_percent: float | None
    io_b_s: float | None
    running_part: float | None
    started_at: float

    @classmethod
    def of(cls, process: Process) -> SubtreeSums:
        cpu = _either(process.cpu_percent, process.reaped_percent, sum)
        io = _either(process.read_b_s, process.write_b_s, sum)
        return cls(1, cpu, io, process.recent.running_part if process.recent else None, process.started_at)

    def add(self, below: SubtreeSums) -> None:
        self.size += below.size
        self.cpu_percent = _either(self.cpu_percent, below.cpu_percent, sum)
        self.io_b_s = _either(self.io_b_s, below.io_b_s, sum)
        self.running_part = _either(self.running_part, below.running_part, max)
        self.started_at = max(self.started_at, below.started_at)

    def onto(self, process: Process) -> Process:
        return replace(
            process,
            subtree_size=self.size,
            subtree_cpu_percent=None if self.cpu_percent is None else round(self.cpu_percent, 1),
            subtree_io_b_s=None if self.io_b_s is None else round(self.io_b_s, 1),
            subtree_running_part=self.running_part,
            subtree_started_at=self.started_at if self.size > 1 else None,
        )


def _either(first: float | None, second: float | None, both: Callable[[tuple[float, float]], float]) -> float | None:
    if first is None or second is None:
        return second if first is None else first
    return both((first, second))


def with_subtrees(processes: list[Process]) -> tuple[Process, ...]:
    """The processes with their sums. Parents come before their children, so sums are built from the end."""
    sums = {process.pid: SubtreeSums.of(process) for process in processes}
    for process in reversed(processes):
        if process.ppid in sums:
            sums[process.ppid].add(sums[process.pid])
    return tuple(sums[process.pid].onto(process) for process in processes)
