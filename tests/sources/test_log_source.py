"""The log source reads real files with the real digest, and says it as readings that fold into a state."""

from __future__ import annotations

import gzip
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hangtop import clock, wire
from hangtop.model import RunState, fold
from hangtop.records.log import LogReading
from hangtop.records.reading import Reading
from hangtop.sources import Absent, open_source
from hangtop.sources.log import LogSource
from hangtop.spec import WatchSpec

PATIENCE_S = 30.0


class Session:
    """A source and the state that its readings make, as the screen would have it."""

    def __init__(self, *logs: str | Path, **spec: object) -> None:
        self.spec = WatchSpec(logs=tuple(os.fspath(log) for log in logs), **spec)  # type: ignore[arg-type]
        self.source = LogSource(self.spec)
        self.state = RunState()
        self.readings: list[LogReading] = []

    def read(self, later_s: float = 0.0) -> list[LogReading]:
        new = []
        for value in self.source.read(clock.now() + later_s):
            line = wire.encode(Reading("log", "here", clock.now(), value))  # what cannot travel is no reading
            self.state = fold(self.state, wire.decode_reading(line))
            new.append(value)
        self.readings += new
        return new

    def until(self, true: Callable[[LogReading], bool]) -> LogReading:
        """Reads on until the newest reading is as wanted."""
        ends_at = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends_at:
            self.read()
            if self.state.log is not None and true(self.state.log):
                return self.state.log
            time.sleep(0.02)
        raise AssertionError(f"never came: last was {self.state.log}")

    @property
    def texts(self) -> list[str]:
        """As the log pane shows them: a line told again (a bar redraws itself, a rank became known) takes its own place."""
        return list({(line.file, line.offset): line.text for line in self.state.tail}.values())


@pytest.fixture
def watch() -> Iterator[Callable[..., Session]]:
    sessions: list[Session] = []

    def begin(*logs: str | Path, **spec: object) -> Session:
        sessions.append(Session(*logs, **spec))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.source.close()


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def settled(log: LogReading) -> bool:
    return log.caught_up and log.lines is not None


def steps(first: int, last: int, rank: int = 0) -> str:
    return "".join(f"[rank{rank}]: step {n}/1000 loss {1 / n:.4f}\n" for n in range(first, last))


def test_the_source_table_opens_it(tmp_path):
    source = open_source("log", WatchSpec(logs=(str(tmp_path / "x.log"),)))
    assert source.name == "log"


def test_no_log_is_absent_and_no_error():
    with pytest.raises(Absent, match="hangtop --log FILE"):
        LogSource(WatchSpec())


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


def test_a_truncated_file_starts_over(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(500, 600))
    session = watch(path)
    session.until(settled)
    path.write_text(steps(1, 3))
    log = session.until(lambda log: log.progress.step == 2)
    assert log.lines == 2
    assert len(session.texts) == 2


def test_a_rotated_log_goes_on(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 100))
    session = watch(path)
    session.until(settled)
    path.rename(tmp_path / "train.log.1")
    path.write_text(steps(100, 103))
    log = session.until(lambda log: log.progress.step == 102)
    assert log.pace.steps >= 100
    assert log.lines == 3


@pytest.mark.parametrize("how", ["renamed", "copied and truncated"])
def test_a_log_that_is_rotated_in_a_directory_brings_no_second_one(tmp_path, watch, how):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 100))
    session = watch(tmp_path)
    session.until(settled)
    if how == "renamed":
        path.rename(tmp_path / "train.log.1")
        (tmp_path / "seen.log").write_text("step 1/10\n")
        session.until(lambda log: len(log.files) == 2)  # it looked, while there was no train.log
    else:
        (tmp_path / "train.log.1").write_bytes(path.read_bytes())
        path.write_text("")
    path.write_text(steps(100, 103))
    (tmp_path / "last.log").write_text("step 1/10\n")
    log = session.until(lambda log: any("last.log" in file.path for file in log.files))
    assert not any("train.log.1" in file.path for file in log.files)


def test_a_log_that_is_copied_and_truncated_goes_on(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 100))
    session = watch(path)
    session.until(settled)
    (tmp_path / "train.log.1").write_bytes(path.read_bytes())
    path.write_text(steps(100, 103))
    log = session.until(lambda log: log.progress.step == 102)
    assert log.pace.steps >= 100
    assert log.lines == 3


def test_a_log_that_comes_late(tmp_path, watch):
    path = tmp_path / "train.log"
    session = watch(path)
    log, *_ = session.read()
    assert log.files[0].status == "waiting"
    assert "waiting for it" in (log.files[0].problem or "")
    path.write_text(steps(1, 3))
    log = session.until(lambda log: log.progress.step == 2)
    assert log.files[0].status == "ok"
    assert log.files[0].problem is None


def test_a_deleted_log_says_so(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 3))
    session = watch(path)
    session.until(settled)
    path.unlink()
    log = session.until(lambda log: log.files[0].status == "gone")
    assert log.progress.step == 2


def test_a_binary_file_does_no_harm_and_is_said_to_be_one(tmp_path, watch):
    path = tmp_path / "model.log"
    path.write_bytes(os.urandom(700_000))
    log = watch(path).until(settled)
    assert log.bytes == 700_000
    assert log.files[0].status == "binary"
    assert log.files[0].problem == f"{path}: looks like a binary file, not a log: file {path}"


def test_a_log_that_only_begins_with_junk_is_a_log(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_bytes(os.urandom(3_000) + b"\n" + steps(1, 5).encode())
    assert watch(path).until(settled).files[0].status == "ok"


def test_a_packed_log_says_how_to_unpack_it(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_bytes(gzip.compress(steps(1, 100).encode()))
    log = watch(path).until(settled)
    assert log.files[0].problem == f"{path}: is packed with gzip: zcat {path} | hangtop --log -"


@pytest.mark.parametrize("head", ["\0" * 5000 + "on\n", "\x1b[1m\x1b[36mcolours\x1b[0m\r\n" * 9, "训练\n", "", "\x0c\n"])
def test_text_is_not_taken_for_a_binary(tmp_path, watch, head):
    path = tmp_path / "train.log"
    path.write_text(head)
    assert watch(path).until(settled).files[0].problem is None


def test_an_empty_file(tmp_path, watch):
    path = tmp_path / "train.log"
    path.touch()
    log = watch(path).until(settled)
    assert (log.lines, log.bytes, log.tail) == (0, 0, ())


def test_one_endless_line(tmp_path, watch):
    path = tmp_path / "bar.log"
    path.write_bytes(b"".join(b"\r%3d%%|###| %d/900000 [00:01<00:10, 5.00it/s]" % (n // 9000, n) for n in range(60_000)))
    log = watch(path).until(settled)
    assert log.progress.step == 59_999
    assert log.lines == 0


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


def test_a_utf_16_log_is_read(tmp_path, watch):
    """PowerShell's `tee` writes such."""
    path = tmp_path / "train.log"
    path.write_bytes("".join(f"[rank0]: step {n}/50000 损失 0.5\r\n" for n in range(1, 9_000)).encode("utf-16"))
    session = watch(path)
    session.until(lambda log: log.progress.step == 8_999)
    with path.open("ab") as file:
        file.write("[rank0]: step 9000/50000\r\n".encode("utf-16-le"))
    session.until(lambda log: log.progress.step == 9_000)
    assert "step 8999/50000 损失" in session.texts[-2]


def test_without_inotify_the_slow_look_finds_it(tmp_path, watch):
    (tmp_path / "rank_0.log").write_text("step 1/10\n")
    session = watch(tmp_path / "rank_*.log")
    session.until(settled)
    session.source.close()
    (tmp_path / "rank_1.log").write_text("step 3/10\n")
    session.read(later_s=10)
    assert len(session.source._logs._set.logs) == 2


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


def test_a_pipe_on_stdin_is_read_and_its_end_is_told(watch):
    ours, theirs = os.pipe()
    session = watch("-", stdin_fd=ours)
    session.read()
    os.write(theirs, steps(1, 4).encode())
    log = session.until(lambda log: log.progress.step == 3)
    assert log.files[0].path == "-"
    assert log.files[0].status == "ok"
    os.close(theirs)
    log = session.until(lambda log: log.files[0].status == "closed")
    assert log.files[0].problem == "-: its writer closed the pipe: nothing more will come"
    assert log.lines == 3
    os.close(ours)


def test_a_fast_writer_into_a_pipe_loses_nothing(watch):
    ours, theirs = os.pipe()
    block = steps(1, 20_000).encode()

    def write() -> None:
        with os.fdopen(theirs, "wb") as pipe:
            for _ in range(8):
                pipe.write(block)

    session = watch("-", stdin_fd=ours)
    threading.Thread(target=write, daemon=True).start()
    log = session.until(lambda log: log.files[0].status == "closed")
    os.close(ours)
    assert log.lines == 8 * 19_999
    assert log.bytes == 8 * len(block)


def test_a_named_pipe_outlives_its_writers(tmp_path, watch):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    session = watch(path)
    session.read()
    for n in (1, 2):
        with path.open("w") as pipe:
            pipe.write(f"step {n}/10\n")
        session.until(lambda log, n=n: log.progress.step == n)
    assert session.state.log is not None
    assert session.state.log.files[0].status == "ok"


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
