"""Ranks that write nothing, beside the one that keeps the log: told by the numbers in their environments, never by a likeness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hangtop.probe.processes.sibling_ranks import sibling_ranks
from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.table import OpenFile, Stat

WRITER = 10
LOG = OpenFile(1, "/run/train.log", writable=True)


def found(
    environs: dict[int, dict[str, str]], files: dict[int, tuple[OpenFile, ...]] | None = None, parent: int = 5
) -> list[int]:
    """Children of one parent, of which process 10 writes the log."""
    stats = {pid: Stat(pid, "python", "S", parent, 5, 5, pid) for pid in environs}

    def facts_of(pids: Iterable[int]) -> Mapping[int, ProcessFacts]:
        return {pid: ProcessFacts.of("python", ("python", "train.py"), environs[pid]) for pid in pids}

    return sibling_ranks([WRITER], stats, {parent: list(environs)}, {WRITER: (LOG,), **(files or {})}, facts_of)


def of_world(rank: int, world: int = 3) -> dict[str, str]:
    return {"RANK": str(rank), "WORLD_SIZE": str(world)}


RANKS = {10: of_world(0), 11: of_world(1), 12: of_world(2)}


def test_the_other_ranks_of_its_world_belong_to_the_run_though_they_write_nothing() -> None:
    assert found(RANKS) == [11, 12]


def test_another_process_of_the_same_parent_is_none() -> None:
    assert found({**RANKS, 13: {}, 14: of_world(1, world=8), 15: of_world(0)}) == [11, 12]


def test_one_that_holds_a_log_of_its_own_may_be_another_run() -> None:
    assert found(RANKS, {12: (OpenFile(1, "/run/other.log", writable=True),)}) == [11]
    assert found(RANKS, {12: (LOG,)}) == [11, 12]


def test_two_of_one_number_are_two_runs_and_nobody_is_taken() -> None:
    assert found({**RANKS, 13: of_world(1)}) == []


def test_children_of_init_are_no_family() -> None:
    assert found(RANKS, parent=1) == []


def test_a_writer_without_a_number_has_no_peers() -> None:
    assert found({10: {}, 11: of_world(1), 12: of_world(2)}) == []
