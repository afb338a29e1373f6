"""A restart by the command of the policy that a killed guard left half done: what the book holds of it, and what follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hangtop.guard.book_file import BookFile
from hangtop.guard.due import due
from hangtop.guard.episodes import NOT_AGAIN, Book, Course, Done, Part, Seen, begin, end, left_half, stand, under_way
from hangtop.guard.left_half import Facts, next_step
from hangtop.guard.policy import Policy, Restarts, When
from hangtop.records.watch_spec import WatchSpec

HUNG = Seen("hung", "Rank 3 stands.", news_at=100.0)
POLICY = Policy(when=(When("hung", "restart"),), restart=Restarts(command=("train",)))
SPEC = WatchSpec(logs=("train.log",))
PARTS: tuple[Part, ...] = ("stops", "stopped", "starts")


def course(part: Part) -> Course:
    return Course(part, ("train", "--resume", "7"), "/runs", "/runs/train.log", 210.0, known=(812, 4711), logged_bytes=99)


def killed_in(part: Part, folder: Path) -> Book:
    """What the guard finds that comes after the one which was killed in this part."""
    file = BookFile(SPEC, folder)
    (first,) = due(POLICY, stand(file.book, (HUNG,), 200.0), (HUNG,), 200.0, 720)
    done = Done("hung", first.began, "restart", 0.0, 200.0)
    file.keep(under_way(begin(stand(file.book, (HUNG,), 200.0), done), done.key, course(part)))
    file.close()
    after = BookFile(SPEC, folder)
    after.close()
    return after.book


@pytest.mark.parametrize("part", PARTS)
def test_the_next_guard_finds_the_part_and_begins_no_second_restart(tmp_path: Path, part: Part) -> None:
    book = killed_in(part, tmp_path)
    half = left_half(book)
    assert half is not None
    assert (half.course, half.went) == (course(part), None)
    assert book.starts == (200.0,)
    assert due(POLICY, book, (HUNG,), 5000.0, 720) == []


def test_the_rest_of_it_is_the_same_start(tmp_path: Path) -> None:
    book = killed_in("stopped", tmp_path)
    half = left_half(book)
    assert half is not None
    book = end(under_way(book, half.key, course("starts")), half.key, "pid 900 runs", went=True)
    assert (left_half(book), book.starts, book.restarted_at) == (None, (200.0,), 200.0)


def test_what_a_command_does_whole_is_not_half_done(tmp_path: Path) -> None:
    file = BookFile(SPEC, tmp_path)
    done = Done("hung", 1.0, "restart", 0.0, 2.0, under_way=True)
    file.keep(Book(done=(done,), starts=(2.0,)))
    file.close()
    after = BookFile(SPEC, tmp_path)
    after.close()
    assert left_half(after.book) is None
    assert after.book.done[0].outcome == NOT_AGAIN


def step(part: Part, **seen: object) -> str:
    return next_step(course(part), Facts(**seen)).do  # type: ignore[arg-type]


def test_a_stop_that_is_proven_is_followed_by_the_start() -> None:
    assert step("stopped") == "start"
    assert step("stops", stopped=True) == "start", "killed before it could write down the proof"


def test_a_stop_that_is_not_proven_is_followed_by_nothing() -> None:
    assert next_step(course("stops"), Facts()).text == NOT_AGAIN


@pytest.mark.parametrize("part", PARTS)
def test_what_is_still_at_work_is_waited_for(part: Part) -> None:
    assert step(part, busy=True, stopped=True) == "wait"


@pytest.mark.parametrize("part", PARTS)
def test_never_a_second_run(part: Part) -> None:
    assert step(part, stopped=True, others=(900,)) == "leave"
    assert step(part, stopped=True, newer=900, newer_lives=True) == "leave"
    assert step(part, stopped=True, newer=900, busy=True) == "leave", "whatever came of it"


def test_a_start_of_which_no_fact_is_known_had_not_begun() -> None:
    assert step("starts") == "start"


@pytest.mark.parametrize("told", [True, None])
def test_a_start_that_may_have_begun_is_told_and_left(told: bool | None) -> None:
    left = next_step(course("starts"), Facts(told=told))
    assert (left.do, left.went) == ("leave", False)
    assert "what came of it is not known" in left.text


def test_a_start_that_was_made_went_well_if_it_lives() -> None:
    assert next_step(course("starts"), Facts(newer=900, newer_lives=True)).went
    assert not next_step(course("starts"), Facts(newer=900)).went
    assert not next_step(course("stopped"), Facts(newer=900, newer_lives=True)).went, "somebody else's"
