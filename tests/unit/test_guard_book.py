"""The book of a guard outlives it, is held by one at a time, and a disk that is full loses nothing but the file."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from hangtop.actions.execute import lock
from hangtop.guard import book_file
from hangtop.guard.book_file import BookFile, HeldError
from hangtop.guard.episodes import NOT_AGAIN, Book, Done
from hangtop.guard.post import Part, Post
from hangtop.records.watch_spec import WatchSpec

SPEC = WatchSpec(logs=("train.log",))
BOOK = Book(
    done=(Done("hung", 1.0, "restart", 0.0, 2.0, under_way=True),), starts=(2.0,), post=Post((Part("hung", "Rank 3 stands."),))
)


def test_the_next_guard_knows_what_was_done_and_what_was_to_be_told(tmp_path: Path) -> None:
    first = BookFile(SPEC, tmp_path)
    assert first.keep(BOOK)
    first.close()
    second = BookFile(SPEC, tmp_path)
    (done,) = second.book.done
    assert (done.outcome, done.went, second.book.starts, second.book.post) == (NOT_AGAIN, False, (2.0,), BOOK.post)
    second.close()


def test_one_guard_a_run_and_a_dry_one_beside_it(tmp_path: Path) -> None:
    first, dry = BookFile(SPEC, tmp_path), BookFile(SPEC, tmp_path, dry_run=True)
    with pytest.raises(HeldError, match="two would act twice"):
        BookFile(SPEC, tmp_path)
    assert dry.keep(BOOK)
    assert first.book == Book()
    for each in (first, dry):
        each.close()


def test_one_guard_a_log_however_many_logs_the_other_one_watches(tmp_path: Path) -> None:
    both, one = WatchSpec(logs=("other.log", "./train.log")), BookFile(SPEC, tmp_path)
    with pytest.raises(HeldError):
        BookFile(both, tmp_path)
    one.close()
    two = BookFile(both, tmp_path)
    with pytest.raises(HeldError):
        BookFile(SPEC, tmp_path)
    two.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")
def test_one_guard_a_run_where_the_file_system_of_the_state_has_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lockf = lock.fcntl.lockf

    def without(fd: int, *how: int) -> None:
        if str(tmp_path) in os.readlink(f"/proc/self/fd/{fd}"):
            raise OSError(errno.ENOLCK, "No locks available")
        lockf(fd, *how)

    monkeypatch.setattr(lock.fcntl, "lockf", without)
    spec = WatchSpec(logs=(str(tmp_path / "train.log"),))
    first = BookFile(spec, tmp_path)
    with pytest.raises(HeldError, match="two would act twice"):
        BookFile(spec, tmp_path)
    first.close()


def test_a_full_disk_is_told_and_the_book_is_written_once_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = BookFile(SPEC, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(book_file, "write_whole", full)
        assert not file.keep(BOOK)
        assert file.problem.endswith("cannot be written: No space left on device")
        assert file.book == BOOK
    assert file.keep(BOOK)
    assert file.problem == ""
    file.close()


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_that_is_no_book_is_told(tmp_path: Path) -> None:
    first = BookFile(SPEC, tmp_path)
    first.path.write_text("{")
    first.close()
    second = BookFile(SPEC, tmp_path)
    assert second.book == Book()
    assert "nothing is known of earlier deeds" in second.problem
    second.close()
