"""The CPU of each rank over time stays with the process, not with the pid."""

from __future__ import annotations

from hangtop.process_life import CpuTracks, fold_cpu
from hangtop.records.process import Process, ProcessReading


def process(pid: int, cpu: float | None, start_ticks: int = 1, **more: object) -> Process:
    known = {"role": "rank", "rank": 0, **more}
    return Process(pid, 0.0, start_ticks, 1, "python", "python train.py", "R", cpu_percent=cpu, **known)  # type: ignore[arg-type]


def after(*readings: ProcessReading) -> CpuTracks:
    known: CpuTracks = {}
    for at, reading in enumerate(readings):
        known = fold_cpu(known, reading, "n1", 10.0 * at, {7})
    return known


def test_ranks_have_a_track_and_so_has_a_pid_that_the_log_names() -> None:
    others = (process(7, 5.0, role="other"), process(8, 6.0, role="data worker"), process(9, None))
    known = after(ProcessReading(processes=(process(6, 99.0), *others)), ProcessReading(processes=(process(6, 1.0),)))
    assert {key: track.means for key, track in known.items()} == {("n1", 6, 1): (99.0, 1.0)}
    assert set(after(ProcessReading(processes=others))) == {("n1", 7, 1)}


def test_a_pid_that_is_used_again_begins_anew_and_an_ended_rank_keeps_its_track() -> None:
    again = ProcessReading(processes=(process(6, 50.0, start_ticks=2),), ended=(process(6, None),))
    known = after(ProcessReading(processes=(process(6, 99.0),)), again)
    assert {key: track.means for key, track in known.items()} == {("n1", 6, 1): (99.0,), ("n1", 6, 2): (50.0,)}


def test_another_host_is_left_alone() -> None:
    known = fold_cpu(after(ProcessReading(processes=(process(6, 9.0),))), ProcessReading(), "n2", 20.0, set())
    assert set(known) == {("n1", 6, 1)}
