"""The CPU and the memory of each rank over time stay with the process, not with the pid."""

from __future__ import annotations

from typing import Any

from hangtop.records.process import Process, ProcessReading
from hangtop.state.process_history import ProcessTracks, fold_tracks


def process(pid: int, cpu: float | None, start_ticks: int = 1, **more: Any) -> Process:
    known: dict[str, Any] = {"role": "rank", "rank": 0, "ppid": 100, **more}
    return Process(pid, 0.0, start_ticks, name="python", command="python train.py", state="R", cpu_percent=cpu, **known)


def after(*readings: ProcessReading) -> ProcessTracks:
    known: ProcessTracks = {}
    for at, reading in enumerate(readings):
        known = fold_tracks(known, reading, "n1", 10.0 * at, {7})
    return known


def test_ranks_have_a_track_and_so_has_a_pid_that_the_log_names() -> None:
    others = (process(7, 5.0, role="other"), process(8, 6.0, role="data worker"), process(9, None))
    known = after(ProcessReading(processes=(process(6, 99.0), *others)), ProcessReading(processes=(process(6, 1.0),)))
    assert {key: track.cpu_percent.means for key, track in known.items()} == {("n1", 6, 1): (99.0, 1.0)}
    lone = after(ProcessReading(processes=others))
    assert {key: track.cpu_percent.means for key, track in lone.items()} == {("n1", 7, 1): (5.0,), ("n1", 9, 1): ()}


def test_a_pid_that_is_used_again_begins_anew_and_an_ended_rank_keeps_its_track() -> None:
    again = ProcessReading(processes=(process(6, 50.0, start_ticks=2),), ended=(process(6, None),))
    known = after(ProcessReading(processes=(process(6, 99.0),)), again)
    assert {key: track.cpu_percent.means for key, track in known.items()} == {("n1", 6, 1): (99.0,), ("n1", 6, 2): (50.0,)}


def test_another_host_is_left_alone() -> None:
    known = fold_tracks(after(ProcessReading(processes=(process(6, 9.0),))), ProcessReading(), "n2", 20.0, set())
    assert set(known) == {("n1", 6, 1)}


def test_what_a_rank_started_counts_as_its_memory_and_other_ranks_do_not() -> None:
    first = process(6, 1.0, rss_bytes=10)
    loader = process(61, 1.0, role="data worker", ppid=6, rss_bytes=5)
    second = process(7, 1.0, rank=1, ppid=6, rss_bytes=100)
    known = after(ProcessReading(processes=(first, loader, second)))
    assert {pid: track.held_bytes.means for (_, pid, _), track in known.items()} == {6: (15,), 7: (100,)}


def test_a_run_without_ranks_has_the_memory_of_its_topmost_process() -> None:
    known = after(
        ProcessReading(processes=(process(1, 0.0, role="other", rss_bytes=1), process(2, 0.0, role="other", ppid=1, rss_bytes=7)))
    )
    assert {pid: track.held_bytes.means for (_, pid, _), track in known.items()} == {1: (8,)}
