"""One file is followed through everything that can happen to a log file. Real files only."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from hangtop.probe.log.tail import CHUNK_BYTES, MOST_TAIL_BYTES, Appended, Event, Followed, Opened
from hangtop.system.files.read_errors import ReadError, shown


class Watcher:
    """Follows one file and keeps what it saw. The clock stands near the files' own times, as a probe's does."""

    def __init__(self, path: Path, **kinds: bool) -> None:
        self.followed = Followed(os.fspath(path), **kinds)
        self.events: list[Event] = []

    def poll(self, later_s: float = 0.0) -> list[Event]:
        new = list(self.followed.poll(time.time() + later_s))
        self.events += new
        return new

    def bytes(self) -> bytes:
        return b"".join(event.data for event in self.events if isinstance(event, Appended))


def whys(events: list[Event]) -> list[str]:
    return [event.why for event in events if isinstance(event, Opened)]


def data(events: list[Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, Appended))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_bytes(b"one\ntwo\n")
    return path


@pytest.fixture
def watcher(log: Path):
    watcher = Watcher(log)
    assert whys(watcher.poll()) == ["first"]
    yield watcher
    watcher.followed.close()


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def test_what_was_there_is_not_live_and_what_comes_is(log, watcher):
    append(log, b"three\n")
    new = watcher.poll()
    assert [event.live for event in watcher.events if isinstance(event, Appended)] == [False, True]
    assert new == [Appended(8, b"three\n", live=True)]
    assert watcher.followed.status == "ok"
    assert watcher.followed.size_bytes == watcher.followed.offset == 14


def test_nothing_new_gives_nothing(watcher):
    assert watcher.poll() == []


def test_a_big_file_is_begun_at_a_line_start_near_its_end(tmp_path):
    path = tmp_path / "big.log"
    path.write_bytes(b"".join(b"line %d\n" % n for n in range(100_000)))
    watcher = Watcher(path)
    first = watcher.poll()[0]
    assert isinstance(first, Opened)
    assert path.stat().st_size - first.start < (256 << 10)
    assert watcher.followed.pread(1, first.start - 1) == b"\n"
    assert watcher.bytes() == path.read_bytes()[first.start :]
    assert watcher.followed.pread(12, 0) == b"line 0\nline "
    watcher.followed.close()


def test_long_lines_are_looked_for_further_back(tmp_path):
    path = tmp_path / "long.log"
    path.write_bytes(b"head\n" * 500_000 + b"x" * 600_000)
    watcher = Watcher(path)
    first = watcher.poll()[0]
    assert isinstance(first, Opened)
    assert first.start == 2_500_000 - 448_575
    watcher.followed.close()


def test_a_line_without_end_is_begun_in_its_middle_after_a_carriage_return(tmp_path):
    path = tmp_path / "bar.log"
    path.write_bytes(b"\r 10%|#" * 2_000_000)
    watcher = Watcher(path)
    first = watcher.poll()[0]
    assert isinstance(first, Opened)
    assert 0 < path.stat().st_size - first.start <= MOST_TAIL_BYTES
    assert watcher.followed.pread(1, first.start - 1) == b"\r"
    watcher.followed.close()


def test_an_empty_file_is_ok_and_its_first_bytes_are_live(tmp_path):
    path = tmp_path / "empty.log"
    path.touch()
    watcher = Watcher(path)
    assert watcher.poll() == [Opened("first", 0)]
    append(path, b"go\n")
    assert watcher.poll() == [Appended(0, b"go\n", live=True)]
    watcher.followed.close()


def test_truncated_and_written_anew(log, watcher):
    log.write_bytes(b"new\n")
    new = watcher.poll()
    assert whys(new) == ["truncated"]
    assert data(new) == b"new\n"
    assert new[-1].live


def test_truncated_to_nothing(log, watcher):
    os.truncate(log, 0)
    assert watcher.poll() == [Opened("truncated", 0)]
    assert watcher.followed.size_bytes == 0
    append(log, b"again\n")
    assert data(watcher.poll()) == b"again\n"


def test_copytruncate_that_regrew_past_the_offset_is_noticed(log, watcher):
    os.truncate(log, 0)
    append(log, b"a different and much longer text than before\n")
    new = watcher.poll()
    assert whys(new) == ["rewritten"]
    assert data(new) == log.read_bytes()


def test_copytruncate_with_the_same_bytes_before_the_offset_is_noticed_by_the_head(tmp_path):
    path = tmp_path / "train.log"
    beat = b"still alive, nothing to report, everything is as it was before\n" * 4
    path.write_bytes(b"run 1 started\n" + beat)
    watcher = Watcher(path)
    watcher.poll()
    os.truncate(path, 0)
    append(path, b"run 2 started\n" + beat + beat)
    assert whys(watcher.poll()) == ["rewritten"]
    watcher.followed.close()


def test_a_file_of_the_same_size_written_anew_is_noticed(log, watcher):
    log.write_bytes(b"ONE\nTWO\n")
    new = watcher.poll()
    assert whys(new) == ["rewritten"]
    assert data(new) == b"ONE\nTWO\n"


def test_a_file_that_was_quiet_for_long_is_read_again_when_anything_of_it_changed(log, watcher):
    watcher.poll(later_s=60)
    assert watcher.poll(later_s=60) == []
    log.write_bytes(b"ONE\ntwo\n")
    os.utime(log, ns=(0, log.stat().st_mtime_ns - 10**9))  # as a copy that keeps its times does
    assert whys(watcher.poll(later_s=60)) == ["rewritten"]
    append(log, b"three\n")
    assert data(watcher.poll(later_s=60)).endswith(b"three\n")


def test_a_hole_of_nul_bytes_after_truncation_is_followed(log, watcher):
    """A writer without O_APPEND goes on at its old offset after copytruncate: NUL bytes stand before."""
    with log.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        os.truncate(log, 0)
        file.write(b"on\n")
    new = watcher.poll()
    assert whys(new) == ["rewritten"]
    assert data(new) == b"\0" * 8 + b"on\n"


def test_rotation_loses_nothing(log, watcher):
    writer = log.open("ab")
    log.rename(log.with_suffix(".log.1"))
    writer.write(b"last words\n")
    writer.flush()
    assert data(watcher.poll()) == b"last words\n"
    assert watcher.followed.status == "gone"
    writer.write(b"and one more\n")
    writer.close()
    log.write_bytes(b"fresh start\n")
    new = watcher.poll()
    assert [type(event) for event in new] == [Appended, Opened, Appended]
    assert data(new) == b"and one more\nfresh start\n"
    assert whys(new) == ["rotated"]
    assert watcher.poll() == []
    assert watcher.followed.status == "ok"


def test_an_empty_successor_waits_while_the_writer_still_uses_the_old_file(log, watcher):
    """logrotate's `create`: the new file is there, but the writer has not reopened yet."""
    writer = log.open("ab")
    log.rename(log.with_suffix(".log.1"))
    log.touch()
    assert watcher.poll() == []
    writer.write(b"late\n")
    writer.close()
    assert data(watcher.poll()) == b"late\n"
    append(log, b"new\n")
    assert data(watcher.poll()) == b"new\n"


def test_replaced_by_rename(log, watcher, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"another\n")
    other.rename(log)
    new = watcher.poll()
    assert whys(new) == ["replaced"]
    assert data(new) == b"another\n"


def put_in_place(log: Path, text: bytes, at: float) -> None:
    """Another file, written at unix time `at`, is moved over the log."""
    other = log.with_name("other")
    other.write_bytes(text)
    os.utime(other, (at, at))
    other.rename(log)


def test_a_run_that_goes_on_writing_the_file_of_before_is_read_on(log, watcher):
    with log.open("ab", buffering=0) as writer:
        put_in_place(log, b"one\ntwo\n", time.time() + 1)
        assert whys(watcher.poll()) == ["replaced"]
        writer.write(b"three\n")
        new = watcher.poll()
        writer.write(b"four\n")
        os.utime(log, (1.0, 1.0))
        new += watcher.poll()
    assert (whys(new), data(new)) == (["switched"], b"one\ntwo\nthree\nfour\n")
    assert (watcher.followed.status, "another file is in its place" in watcher.followed.problem) == ("gone", True)


def test_a_file_that_took_the_place_and_is_written_is_the_log_from_then_on(log, watcher):
    with log.open("ab", buffering=0) as writer:
        put_in_place(log, b"new\n", time.time() + 1)
        watcher.poll()
        append(log, b"newer\n")
        assert data(watcher.poll()) == b"newer\n"
        writer.write(b"late words of the old run\n")
        assert watcher.poll() == []


def test_a_new_log_is_followed_though_its_clock_was_set_back(log, watcher):
    put_in_place(log, b"new\n", 1000.0)
    assert watcher.poll()[0].status == "gone"
    append(log, b"newer\n")
    os.utime(log, (1001.0, 1001.0))
    new = watcher.poll()
    assert (whys(new), data(new), watcher.followed.status) == (["replaced"], b"new\nnewer\n", "ok")


def test_deleted_and_recreated(log, watcher):
    writer = log.open("ab")
    log.unlink()
    (fault,) = watcher.poll()
    assert isinstance(fault, ReadError)
    assert fault.status == "gone"
    assert str(log) in fault.problem
    assert watcher.poll() == []
    writer.write(b"a writer that holds the deleted file is still heard\n")
    writer.close()
    assert b"still heard" in data(watcher.poll())
    log.write_bytes(b"back\n")
    new = watcher.poll()
    assert whys(new) == ["replaced"]
    assert data(new) == b"back\n"


def test_a_symlink_switched_to_another_run(tmp_path):
    for name in ("run1.log", "run2.log"):
        (tmp_path / name).write_bytes(name.encode() + b"\n")
    link = tmp_path / "latest.log"
    link.symlink_to("run1.log")
    watcher = Watcher(link)
    watcher.poll()
    (tmp_path / "next").symlink_to("run2.log")
    (tmp_path / "next").rename(link)
    new = watcher.poll()
    assert whys(new) == ["switched"]
    assert data(new) == b"run2.log\n"
    assert not new[-1].live
    watcher.followed.close()


def test_not_there_yet_then_there(tmp_path):
    path = tmp_path / "train.log"
    watcher = Watcher(path)
    (fault,) = watcher.poll()
    assert isinstance(fault, ReadError)
    assert fault == ReadError("waiting", f"{path}: not there yet, waiting for it: ls -l {tmp_path}")
    assert watcher.poll() == []
    path.write_bytes(b"hello\n")
    new = watcher.poll()
    assert whys(new) == ["appeared"]
    assert new[-1] == Appended(0, b"hello\n", live=True)
    assert (watcher.followed.status, watcher.followed.problem) == ("ok", None)
    watcher.followed.close()


@contextmanager
def no_special_rights():
    """Root may read anything, so for a while this process is nobody."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_file_that_may_not_be_read_says_the_command_that_permits_it(tmp_path):
    path = tmp_path / "closed" / "train.log"
    path.parent.mkdir()
    path.write_bytes(b"secret\n")
    path.parent.chmod(0)
    try:
        with no_special_rights():
            (fault,) = Watcher(path).poll()
    finally:
        path.parent.chmod(0o700)
    assert isinstance(fault, ReadError)
    assert fault.status == "denied"
    assert fault.problem.startswith(f"{path}: permission denied: sudo chmod a+x /")


def test_a_right_that_comes_later_is_used(tmp_path):
    path = tmp_path / "train.log"
    watcher = Watcher(path)
    path.mkdir()
    (fault,) = watcher.poll()
    assert isinstance(fault, ReadError)
    assert fault.status == "directory"
    path.rmdir()
    path.write_bytes(b"now a file\n")
    assert data(watcher.poll()) == b"now a file\n"
    watcher.followed.close()


def test_a_device_is_refused(tmp_path):
    (fault,) = Watcher(Path("/dev/null")).poll()
    assert isinstance(fault, ReadError)
    assert fault.status == "failed"
    assert "not a log file" in fault.problem


def test_a_link_in_a_circle_is_one_clear_line(tmp_path):
    loop = tmp_path / "loop.log"
    loop.symlink_to(loop)
    (fault,) = Watcher(loop).poll()
    assert isinstance(fault, ReadError)
    assert "circle" in fault.problem


def test_on_a_network_file_system_the_path_is_opened_anew(log):
    watcher = Watcher(log, network=True)
    watcher.poll()
    append(log, b"three\n")
    assert data(watcher.poll(later_s=10)) == b"three\n"
    log.write_bytes(b"4\n")
    assert data(watcher.poll(later_s=20)) == b"4\n"
    watcher.followed.close()


def test_a_rest_beyond_one_poll_comes_with_the_next(log, watcher):
    text = b"x" * 99 + b"\n"
    append(log, text * (10 * CHUNK_BYTES // 100))
    first = data(watcher.poll())
    assert len(first) == 8 * CHUNK_BYTES
    watcher.poll()
    assert watcher.bytes() == log.read_bytes()


def test_a_name_with_odd_bytes_can_be_shown():
    assert shown(b"a\x1b[31m\xff.log".decode("utf-8", "surrogateescape")) == "a�[31m�.log"


def test_no_line_is_lost_under_bursts_with_rotation(tmp_path):
    """A writer that rotates its log by rename again and again: every line arrives, once and in order."""
    path = tmp_path / "train.log"
    turns, lines = 10, 40_000
    watcher = Watcher(path)
    path.touch()
    watcher.poll()

    def write() -> None:
        for turn in range(turns):
            with path.open("ab", buffering=0) as file:
                for start in range(turn * lines, (turn + 1) * lines, 500):
                    file.write(b"".join(b"%d\n" % n for n in range(start, start + 500)))
            while len(whys(watcher.events)) <= turn:  # nobody rotates faster than ten times a second
                time.sleep(0.001)
            if turn < turns - 1:
                path.rename(tmp_path / f"train.log.{turn}")

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        watcher.poll()
    watcher.poll()
    watcher.followed.close()
    assert whys(watcher.events) == ["first"] + ["rotated"] * (turns - 1)
    assert watcher.bytes().split(b"\n") == [b"%d" % n for n in range(turns * lines)] + [b""]
