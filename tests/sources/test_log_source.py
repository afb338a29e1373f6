"""The log source reads real files with the real digest, and says it as readings that fold into a state."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hangtop.common import clock
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.log_source import LogSource
from hangtop.probe.source import Absent, open_source
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.log_session import PATIENCE_S, Session, append, settled, steps


def test_the_source_table_opens_it(tmp_path):
    source = open_source("log", ProbeContext(WatchSpec(logs=(str(tmp_path / "x.log"),))))
    assert isinstance(source, LogSource)


def test_no_log_is_absent_and_no_error():
    with pytest.raises(Absent, match="hangtop --log FILE"):
        LogSource(ProbeContext(WatchSpec()))


def test_the_first_reading_shows_the_last_lines_and_the_next_understands_them(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text("\x1b[32mstart\x1b[0m\n" + steps(1, 50))
    session = watch(path)
    glimpse, first, *_ = session.read()
    assert glimpse.fresh
    assert not glimpse.caught_up
    assert [line.text for line in glimpse.tail][::49] == ["start", "[rank0]: step 49/1000 loss 0.0204"]
    assert first.fresh
    assert first.progress.step == 49
    assert first.tail[-1].text.startswith("step 49/1000")
    assert [line.offset for line in first.tail] == [line.offset for line in glimpse.tail]
    assert first.last_output_at == glimpse.last_output_at == pytest.approx(path.stat().st_mtime)
    assert [rank.rank for rank in first.ranks] == [0]


def test_a_glimpse_of_a_big_file_begins_at_a_line_start(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 20_000))
    glimpse, *_ = watch(path).read()
    assert [line.text.split("/")[0] for line in glimpse.tail] == [f"[rank0]: step {n}" for n in range(19_900, 20_000)]


def test_nothing_new_gives_no_reading(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 5))
    session = watch(path)
    session.until(settled)
    for _ in range(5):
        time.sleep(0.13)
        assert session.read() == []


def test_new_lines_are_sent_once_with_their_rank(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 5))
    session = watch(path)
    session.until(settled)
    append(path, steps(5, 7) + steps(3, 4, rank=1))
    log = session.until(lambda log: log.progress.step == 6)
    assert not log.fresh
    assert [text.split("/")[0] for text in session.texts] == [
        "step 1",
        "step 2",
        "step 3",
        "step 4",
        "step 5",
        "step 6",
        "step 3",
    ]
    assert [line.rank for line in session.state.tail][-3:] == [0, 0, 1]
    assert sorted(session.state.ranks) == [0, 1]
    assert [rank.rank for rank in session.readings[-1].ranks] == [0, 1]
    assert log.last_output_at == pytest.approx(clock.now(), abs=PATIENCE_S)


def test_bytes_and_lines_equal_the_file(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 60_000) + "no newline at the end")
    session = watch(path)
    log = session.until(settled)
    assert log.lines == path.read_bytes().count(b"\n")
    assert log.bytes == path.stat().st_size
    append(path, " but now\nand more\n")
    log = session.until(lambda log: log.bytes == path.stat().st_size)
    assert log.lines == path.read_bytes().count(b"\n")


def test_a_big_file_shows_its_end_before_its_past_is_read(tmp_path, watch):
    path = tmp_path / "big.log"
    path.write_text("RuntimeError: NCCL communicator was aborted on rank 3\n" + steps(1, 40_000) * 4)
    session = watch(path)
    _, first, *_ = session.read()
    assert not first.caught_up
    assert first.scanned_part < 0.5
    assert first.tail[-1].text.startswith("step 39999/1000")
    log = session.until(settled)
    assert log.scanned_part == 1
    assert session.texts[-1].startswith("step 39999/1000")


def test_what_comes_while_the_past_is_read_is_not_lost(tmp_path, watch):
    path = tmp_path / "big.log"
    path.write_text(steps(1, 40_000) * 4)
    session = watch(path)
    session.read()
    for n in range(20):
        append(path, f"[rank0]: step {n + 40_000}/1000 loss 1\n")
        session.read()
    session.until(lambda log: settled(log) and log.bytes == path.stat().st_size)
    assert [text.split("/")[0] for text in session.texts[-20:]] == [f"step {n + 40_000}" for n in range(20)]


def test_an_unfinished_line_is_shown_and_then_changed_in_place(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text("loading\n")
    session = watch(path)
    session.until(settled)
    append(path, "\r 10%|# | 1/10")
    session.until(lambda log: log.bytes == path.stat().st_size)
    append(path, "\r 20%|## | 2/10")
    session.until(lambda log: log.bytes == path.stat().st_size)
    assert "2/10" in session.texts[-1]


def test_a_profile_that_is_edited_is_used_at_once(tmp_path, watch):
    log_path, profile = tmp_path / "train.log", tmp_path / "mine.toml"
    log_path.write_text("HELLO FLEET\nstage one begins\n")
    text = """
schema = 1
name = "fleet"
title = "My fleet"
[[detect]]
literal = "HELLO FLEET"
weight = 3
[[stage]]
id = "dataset"
title = "Data"
enter = [{ literal = ["stage one begins"] }]
"""
    profile.write_text(text)
    session = watch(log_path, profile=str(profile))
    log = session.until(settled)
    assert log.framework == "fleet"
    assert [event.title for event in log.stages] == ["Data"]
    profile.write_text(text.replace('"Data"', '"My data"'))
    log = session.until(lambda log: [event.title for event in log.stages] == ["My data"])
    assert log.problem is None
    profile.write_text(text.replace("weight = 3", 'weight = "three"'))
    log = session.until(lambda log: log.problem is not None)
    assert log.problem is not None
    assert f"{profile}:7" in log.problem
    assert "weight" in log.problem
    assert [event.title for event in log.stages] == ["My data"]


def test_the_clock_of_an_old_log_is_set_by_its_file_time(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text("2020-01-01 10:00:00,000 INFO start\n2020-01-01 10:05:00,000 INFO [rank3]: step 3/10\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    log = watch(path).until(settled)
    assert log.last_output_at == 1_700_000_000


def test_bursts_of_many_lines_are_all_counted(tmp_path, watch):
    """The whole way: writer, follow, digest, count. 10,000 lines at once, 20 times a second at most."""
    path = tmp_path / "train.log"
    path.touch()
    session = watch(path)
    session.until(settled)
    line = b"[rank0]: step 7/1000 loss 0.5 and some more text to make it as long as a line of a log usually is\n"
    done = threading.Event()

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            for _ in range(20):
                for _ in range(10):
                    file.write(line * 1_000)
                time.sleep(0.05)
        done.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    while not done.is_set():
        session.read()
        time.sleep(0.1)
    writer.join()
    log = session.until(lambda log: log.bytes == path.stat().st_size)
    assert log.lines == 200_000
    assert session.state.ranks[0].step == 7


def test_dates_without_a_year_are_of_the_year_that_the_log_names_at_its_start(
    tmp_path: Path, watch: Callable[..., Session]
) -> None:
    """Else the end of a big log, read first, and its beginning would be years apart."""
    log = tmp_path / "train.log"
    log.write_text(
        "2026-01-11 09:59:00,000 INFO train: config loaded\n"
        "INFO 01-11 10:00:00 [core.py:69] Initializing a V1 LLM engine (v0.9.2) with config: model='x'\n"
        + "INFO 01-11 10:01:00 [worker.py:7] waiting for weights\n"
        * 12_000
    )
    reading = watch(log).until(settled)
    written_at = log.stat().st_mtime
    times = [stage.at for stage in reading.stages if stage.at is not None]
    assert times
    assert all(written_at - 600 < at <= written_at for at in times)
