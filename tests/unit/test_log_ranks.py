"""Which rank a process is by the log that it writes alone."""

from __future__ import annotations

from hangtop.probe.processes.rank_assignment import log_ranks
from hangtop.system.processes.table import OpenFile, Stat


def stat(pid: int, ppid: int = 10) -> Stat:
    return Stat(pid, "python", "S", ppid, 10, 10, pid)


def log(number: int, fd: int = 1) -> OpenFile:
    return OpenFile(fd, f"/runs/rank_{number}.log", writable=True)


def test_each_rank_has_the_number_of_its_log_and_the_launcher_that_opened_all_has_none() -> None:
    stats = {pid: stat(pid, 1 if pid == 10 else 10) for pid in (10, 20, 21)}
    files = {10: (log(0, 5), log(1, 6)), 20: (log(1),), 21: (log(0),)}
    assert log_ranks(stats, files, stats) == {20: 1, 21: 0}


def test_children_of_a_rank_share_its_log() -> None:
    stats = {20: stat(20), 21: stat(21), 30: stat(30, 20)}
    files = {20: (log(0),), 30: (log(0),), 21: (log(1),)}
    assert log_ranks(stats, files, stats) == {20: 0, 30: 0, 21: 1}


def test_a_log_that_siblings_share_tells_nothing() -> None:
    stats = {20: stat(20), 21: stat(21)}
    shared = (OpenFile(1, "/runs/rank_0.log", writable=True), OpenFile(2, "/runs/rank_1.log", writable=True))
    assert log_ranks(stats, {20: shared, 21: shared}, stats) == {}


def test_what_is_only_read_or_no_log_is_passed_over() -> None:
    stats = {20: stat(20), 21: stat(21)}
    files = {
        pid: (OpenFile(7, f"/data/shard_{pid}.bin", writable=True), OpenFile(0, f"/runs/rank_{pid}.log", False)) for pid in stats
    }
    assert log_ranks(stats, files, stats) == {}
