"""Sums over a process and what it started."""

from __future__ import annotations

from hangtop.records.process import Process, ProcessRole
from hangtop.system.processes.tree import with_subtrees


def process(pid: int, ppid: int, role: ProcessRole, rank: int | None, cpu_percent: float) -> Process:
    return Process(pid, 1.0, 7, ppid, "python", "python fit.py", "S", role=role, rank=rank, cpu_percent=cpu_percent)


def test_a_launcher_is_judged_by_its_ranks_and_a_rank_by_its_data_workers() -> None:
    tree = [process(1, 0, "launcher", None, 1.0), process(2, 1, "rank", 0, 2.0), process(3, 2, "data worker", 0, 40.0)]
    assert [each.subtree_cpu_percent for each in with_subtrees(tree)] == [43.0, 42.0, 40.0]


def test_a_rank_that_starts_the_others_is_not_judged_by_what_they_do() -> None:
    """Lightning starts them below rank 0."""
    tree = [process(1, 0, "rank", 0, 0.0), process(2, 1, "rank", 1, 70.0), process(3, 1, "data worker", 0, 5.0)]
    assert [each.subtree_cpu_percent for each in with_subtrees(tree)] == [5.0, 70.0, 5.0]
