"""Several logs as one: rank files, directories, newer attempts."""

from __future__ import annotations

import os

import pytest

from tests.fakes.log_session import append, settled


def test_256_rank_files_stand_in_one_table(tmp_path, watch):
    for rank in range(256):
        (tmp_path / f"rank_{rank}.log").write_text(f"step {rank + 1}/1000 loss 1\n")
    session = watch(tmp_path)
    log = session.until(settled)
    assert len(log.files) == 256
    assert {rank: known.step for rank, known in session.state.ranks.items()} == {rank: rank + 1 for rank in range(256)}
    append(tmp_path / "rank_77.log", "step 500/1000 loss 1\n")
    session.until(lambda log: log.progress.step == 500)
    assert [rank.rank for rank in session.readings[-1].ranks] == [77]
    assert [(line.rank, line.file) for line in session.readings[-1].tail] == [(77, 77)]


def test_a_new_rank_file_is_found_while_running(tmp_path, watch):
    (tmp_path / "rank_0.log").write_text("step 1/10\n")
    (tmp_path / "rank_2.log").write_text("step 1/10\n")
    session = watch(tmp_path / "rank_*.log")
    session.until(settled)
    (tmp_path / "rank_1.log").write_text("step 3/10\n")
    log = session.until(lambda log: len(log.files) == 3)
    assert [file.rank for file in log.files] == [0, 2, 1]
    session.until(lambda log: log.progress.step == 3)
    assert session.state.ranks[1].step == 3


def test_a_file_alone_has_no_rank_until_its_siblings_come(tmp_path, watch):
    (tmp_path / "w-4.log").write_text("step 1/10\n")
    session = watch(tmp_path)
    log = session.until(settled)
    assert [file.rank for file in log.files] == [None]
    (tmp_path / "w-5.log").write_text("step 2/10\n")
    session.until(lambda log: [file.rank for file in log.files] == [4, 5] and settled(log))
    assert {rank: known.step for rank, known in session.state.ranks.items()} == {4: 1, 5: 2}


def test_a_newer_attempt_takes_the_place_of_the_old(tmp_path, watch):
    def make(attempt: int, step: int) -> None:
        for rank in range(2):
            path = tmp_path / f"none_x/attempt_{attempt}/{rank}/stdout.log"
            path.parent.mkdir(parents=True)
            path.write_text(f"step {step}/1000 loss 1\n")

    make(0, 900)
    session = watch(tmp_path)
    session.until(lambda log: log.progress.step == 900)
    make(1, 5)
    log = session.until(lambda log: log.progress.step == 5 and len(log.files) == 2)
    assert all("attempt_1" in file.path for file in log.files)
    assert {known.step for known in session.state.ranks.values()} == {5}


def test_a_directory_without_logs_waits_for_one(tmp_path, watch):
    session = watch(tmp_path)
    log, *_ = session.read()
    assert [(file.status, file.problem is not None) for file in log.files] == [("directory", True)]
    (tmp_path / "train.log").write_text("step 1/10\n")
    log = session.until(lambda log: log.progress.step == 1)
    assert [file.path for file in log.files] == [str(tmp_path / "train.log")]


@pytest.mark.parametrize("copied_s", [0, 3_727])
def test_the_lines_of_copied_logs_stand_in_the_order_of_the_times_inside(tmp_path, watch, copied_s):
    """Rank 1 died four minutes before rank 0 wrote its last line; a copy without times has both files written at once."""
    for rank, minutes in ((0, (0, 3, 9)), (1, (1, 4, 5))):
        path = tmp_path / f"rank_{rank}.log"
        path.write_text("".join(f"2026-01-11 10:{minute:02d}:00 INFO line {minute}\n" for minute in minutes))
        written = 1_768_125_600 + 60 * minutes[-1] + copied_s
        os.utime(path, (written, written if not copied_s else 1_768_125_600 + 600 + copied_s + rank))
    session = watch(tmp_path)
    session.until(settled)
    assert [line.text for line in session.state.tail] == [f"line {minute}" for minute in (0, 1, 3, 4, 5, 9)]
    times = [line.at for line in session.state.tail]
    assert [time - times[0] for time in times] == [0, 60, 180, 240, 300, 540]
