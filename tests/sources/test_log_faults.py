"""What may happen to a log file, and what may stand in it: nothing is lost, nothing is made up, and it is said."""

from __future__ import annotations

import gzip
from random import Random

import pytest

from hangtop.probe.log.tracked_log import LINES_KEPT
from tests.fakes.log_session import append, settled, steps


def test_a_truncated_file_starts_over(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(500, 600))
    session = watch(path)
    session.until(settled)
    path.write_text(steps(1, 3))
    session.until(lambda log: log.progress.step == 2 and log.lines == 2)
    assert len(session.texts) == 2


def test_a_rotated_log_goes_on(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 100))
    session = watch(path)
    session.until(settled)
    path.rename(tmp_path / "train.log.1")
    path.write_text(steps(100, 103))
    log = session.until(lambda log: log.progress.step == 102 and log.lines == 3)
    assert log.pace.steps >= 100


@pytest.mark.parametrize("how", ["renamed", "copied and truncated"])
def test_what_was_written_before_a_rotation_stays_in_view_above_a_border(tmp_path, watch, how):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 4))
    session = watch(path)
    session.until(settled)
    for number in (1, 2):
        append(path, f"last words {number}\n")
        if how == "renamed":
            path.rename(tmp_path / f"train.log.{number}")
        else:
            session.until(lambda log, number=number: log.last_line == f"last words {number}")
            (tmp_path / f"train.log.{number}").write_bytes(path.read_bytes())
        path.write_text(f"first words {number}\n")
        session.until(lambda log, number=number: log.last_line == f"first words {number}")
    shown = [line.text if line.kind != "border" else "----" for line in session.state.tail]
    assert shown[-6:] == ["last words 1", "----", "first words 1", "last words 2", "----", "first words 2"]
    assert len(shown) == 9
    offsets = [line.offset for line in session.state.tail]
    assert offsets == sorted(set(offsets))
    assert [line.text for line in session.state.tail if line.offset >= 0] == ["first words 2"]


def test_what_was_written_just_before_a_copy_is_read_from_the_copy(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, 4))
    session = watch(path)
    session.until(settled)
    append(path, "last words\n")
    (tmp_path / "train.log.1").write_bytes(path.read_bytes())
    path.write_text("first words\n")  # all of it between two looks
    session.until(lambda log: log.last_line == "first words")
    assert session.texts[-3:] == ["last words", "", "first words"]


def test_only_so_many_lines_of_before_a_rotation_are_kept(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_text(steps(1, LINES_KEPT + 50))
    session = watch(path)
    session.until(settled)
    path.rename(tmp_path / "train.log.1")
    path.write_text("of the new file\n")
    session.until(lambda log: log.last_line == "of the new file")
    assert len(session.state.tail) == LINES_KEPT + 2


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
    log = session.until(lambda log: log.progress.step == 102 and log.lines == 3)
    assert log.pace.steps >= 100


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
    path.write_bytes(Random(1).randbytes(700_000))
    log = watch(path).until(settled)
    assert log.bytes == 700_000
    assert log.files[0].status == "binary"
    assert log.files[0].problem == f"{path}: looks like a binary file, not a log: file {path}"


def test_a_log_that_only_begins_with_junk_is_a_log(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_bytes(Random(1).randbytes(3_000) + b"\n" + steps(1, 5).encode())
    assert watch(path).until(settled).files[0].status == "ok"


def test_a_packed_log_says_how_to_unpack_it(tmp_path, watch):
    path = tmp_path / "train.log"
    path.write_bytes(gzip.compress(steps(1, 100).encode()))
    log = watch(path).until(settled)
    assert log.files[0].problem == f"{path}: is packed with gzip: zcat {path} > unpacked.log; hangtop --log unpacked.log"


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
