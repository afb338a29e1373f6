"""Sums over a process and its descendants, by which launchers and parents of compilers are judged. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hangtop.records.process import Process


def with_subtrees(processes: list[Process]) -> tuple[Process, ...]:
    """The processes with their sums. Parents come before their children, so subtrees are gathered from the end."""
    trees = {process.pid: [process] for process in processes}
    for process in reversed(processes):
        if process.ppid in trees:
            trees[process.ppid] += trees[process.pid]
    return tuple(_summed(process, trees[process.pid]) for process in processes)


def _summed(process: Process, tree: list[Process]) -> Process:
    running = [member.recent.running_part for member in tree if member.recent is not None]
    return replace(
        process,
        subtree_size=len(tree),
        subtree_cpu_percent=_sum(rate for member in tree for rate in (member.cpu_percent, member.reaped_percent)),
        subtree_io_b_s=_sum(rate for member in tree for rate in (member.read_b_s, member.write_b_s)),
        subtree_running_part=max(running, default=None),
        subtree_started_at=max(member.started_at for member in tree) if len(tree) > 1 else None,
    )


def _sum(rates: Iterable[float | None]) -> float | None:
    """`None` when none of them is known."""
    known = [rate for rate in rates if rate is not None]
    return round(sum(known), 1) if known else None
