"""What a policy wants done, and that nothing is done twice."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.guard.due import awaited, due
from hangtop.guard.episodes import (
    AGAIN_S,
    NOT_AGAIN,
    NOT_YET,
    TRIES,
    Book,
    Done,
    Seen,
    begin,
    end,
    not_after,
    opened_again,
    stand,
    under_way,
)
from hangtop.guard.policy import WRAPPED, Policy, Restarts, When
from hangtop.records.verdict import VerdictWord

HUNG = Seen("hung", "Rank 3 stands.", "likely", news_at=100.0, mark="step 7")
RESTART = Policy(when=(When("hung", "restart", after=60),), restart=Restarts(most=2, back_off=100))
NOON = 720


def deeds(policy: Policy, book: Book, now: float, *seen: Seen) -> list[str]:
    return [each.deed for each in due(policy, book, seen or (HUNG,), now, NOON)]


def stands(now: float, *seen: Seen, book: Book | None = None) -> Book:
    return stand(book or Book(), seen or (HUNG,), now)


def done(book: Book, policy: Policy, now: float) -> Book:
    """The first deed that is due, done well."""
    first = due(policy, book, (HUNG,), now, NOON)[0]
    begun = begin(book, Done(first.seen.event, first.began, first.deed, first.when.after_s, now))
    return end(begun, first.key, "well", went=True)


def test_a_deed_waits_until_the_event_has_stood_long_enough() -> None:
    book = stands(200.0)
    assert deeds(RESTART, book, 259.0) == []
    assert deeds(RESTART, book, 260.0) == ["restart"]
    assert awaited(RESTART, book, (HUNG,), 259.0, NOON)


NEWS = {"news_at": 290.0, "mark": "step 8"}


def test_it_is_done_once_an_episode() -> None:
    book = done(stands(200.0), RESTART, 260.0)
    assert deeds(RESTART, stands(270.0, book=book), 400.0) == []
    went_on = stands(291.0, Seen("running", "", **NEWS), book=book)
    assert deeds(RESTART, stands(300.0, replace(HUNG, **NEWS), book=went_on), 500.0) == ["restart"]


def test_a_run_that_told_something_new_in_between_hangs_anew() -> None:
    book = done(stands(200.0), RESTART, 260.0)
    again = stands(600.0, replace(HUNG, **NEWS), book=book)
    assert deeds(RESTART, again, 700.0) == ["restart"]


def test_a_hang_that_is_called_stalled_or_slow_for_a_while_is_the_same_one() -> None:
    book = done(stands(200.0), RESTART, 260.0)
    for word in ("stalled", "slow", "blind"):
        book = stands(270.0, replace(HUNG, event=word), book=book)
    assert deeds(RESTART, stands(900.0, book=book), 5000.0) == []


def test_a_heartbeat_is_no_news() -> None:
    stacks = Policy(when=(When("hung", "stacks"),))
    book = done(stands(200.0), stacks, 200.0)
    assert deeds(stacks, stands(600.0, replace(HUNG, news_at=590.0), book=book), 900.0) == []


def test_what_stands_again_must_stand_for_as_long_as_the_policy_says() -> None:
    book = stands(230.0, replace(HUNG, event="slow"), book=stands(200.0))
    assert deeds(RESTART, stands(250.0, book=book), 309.0) == []
    assert deeds(RESTART, stands(250.0, book=book), 310.0) == ["restart"]


def test_a_crash_of_the_next_attempt_is_another_one_and_its_last_words_are_not() -> None:
    crashed = Seen("crashed", "KeyError", "certain", 100.0, "a")
    policy = Policy(when=(When("crashed", "notify"),))
    first = due(policy, stands(200.0, crashed), (crashed,), 200.0, NOON)[0]
    book = end(begin(stands(200.0, crashed), Done("crashed", first.began, "notify", 0.0, 200.0)), first.key, "", went=True)
    later = replace(crashed, news_at=203.0, mark="b")
    assert deeds(policy, stands(204.0, later, book=book), 204.0, later) == []
    assert deeds(policy, stands(300.0, replace(later, attempt=2), book=book), 300.0, later) == ["notify"]
    by_another_process = replace(later, started_at=201.0)
    assert deeds(policy, stands(210.0, by_another_process, book=book), 210.0, later) == ["notify"], "in a log made anew"


def test_what_the_guard_itself_started_again_hangs_anew() -> None:
    book = done(stands(200.0), RESTART, 260.0)
    assert book.restarted_at == 260.0
    assert stands(400.0, book=book).episodes["hung"].began == 200.0, "seen before the new run was"
    assert stands(400.0, replace(HUNG, news_at=270.0), book=book).episodes["hung"].began == 400.0


def test_a_sign_that_goes_for_a_moment_is_the_same_one() -> None:
    full = Seen("disk", "full")
    running = Seen("running", "")
    book = stands(100.0, running, full)
    book = stands(130.0, running, book=book)
    assert stands(150.0, running, full, book=book).episodes["disk"].began == 100.0
    assert "disk" not in stands(200.0, running, book=book).episodes


def test_of_a_deed_that_changed_nothing_no_start_is_counted_and_it_is_tried_again() -> None:
    book = stands(200.0)
    for number in range(3):
        at = 260.0 + 60.0 * number
        (first,) = due(RESTART, book, (HUNG,), at, NOON)
        book = end(
            begin(book, Done("hung", first.began, "restart", 60.0, at)), first.key, "it took too long", went=False, nothing=True
        )
        assert book.starts == ()
        assert deeds(RESTART, book, at + 59.0) == []
        assert awaited(RESTART, book, (HUNG,), at + 1.0, NOON) == (number < 2)
    assert deeds(RESTART, book, 5000.0) == []


@pytest.mark.parametrize("word", ["slow", "waiting", "blind"])
def test_beside_a_run_that_works_no_sign_ends_it(word: VerdictWord) -> None:
    policy = Policy(when=(When("nan", ("notify", "stop")),))
    seen = (Seen(word, "", "certain"), Seen("nan", "loss: not a number"))
    assert deeds(policy, stands(200.0, *seen), 300.0, *seen) == ["notify"]


def test_after_a_clock_went_back_nothing_stands_since_the_future() -> None:
    book = not_after(replace(stands(200.0), starts=(190.0,)), 50.0)
    assert (book.episodes["hung"].since, book.starts) == (50.0, (50.0,))
    assert deeds(Policy(when=(When("hung", "notify", after=60),)), book, 110.0) == ["notify"]


def test_what_is_less_sure_than_the_policy_asks_for_is_left_alone() -> None:
    policy = Policy(when=(When("hung", "notify", confidence="certain"),))
    assert deeds(policy, stands(200.0), 300.0) == []
    assert deeds(policy, stands(200.0), 300.0, replace(HUNG, confidence="certain")) == ["notify"]


def test_a_slow_run_is_never_ended() -> None:
    slow = Seen("slow", "Rank 0 saves.", "certain")
    policy = Policy(when=(When(("stalled", "hung", "crashed"), "stop"),))
    assert deeds(policy, stands(0.0, slow), 1e6, slow) == []


def test_starts_back_off_and_have_an_end() -> None:
    first = done(stands(200.0), RESTART, 260.0)
    hung = replace(HUNG, **NEWS)
    second = stands(300.0, hung, book=first)
    assert due(RESTART, second, (hung,), 359.9, NOON) == []
    assert [each.deed for each in due(RESTART, second, (hung,), 361.0, NOON)] == ["restart"]
    assert deeds(RESTART, replace(second, starts=(260.0, 361.0), done=()), 90_000.0, hung) == ["restart"]
    twice = replace(second, starts=(260.0, 361.0), done=())
    (refused,) = due(RESTART, twice, (hung,), 900.0, NOON)
    assert "started again 2 times within 1d" in refused.refused
    assert not awaited(RESTART, twice, (hung,), 900.0, NOON)


def test_of_two_harmful_deeds_only_the_first_comes_before_another_look() -> None:
    policy = Policy(when=(When("hung", "stop"), When("hung", ("notify", "recover"))))
    assert deeds(policy, stands(0.0), 1.0) == ["stop", "notify"]


def test_outside_its_hours_nothing_is_due() -> None:
    policy = Policy(when=(When("hung", "notify", hours="22:00-07:00"),))
    assert deeds(policy, stands(0.0), 1.0) == []


def test_what_was_under_way_when_the_guard_ended_is_not_done_again() -> None:
    book = stands(200.0)
    (first,) = due(RESTART, book, (HUNG,), 260.0, NOON)
    begun = opened_again(under_way(begin(book, Done("hung", first.began, "restart", 60.0, 260.0)), first.key))
    assert (begun.done[0].outcome, begun.done[0].went) == (NOT_AGAIN, False)
    assert deeds(RESTART, stands(300.0, book=begun), 1000.0) == []
    assert begun.starts == (260.0,)


def test_what_was_only_planned_when_the_guard_ended_is_done_by_the_next_one() -> None:
    book = stands(200.0)
    (first,) = due(RESTART, book, (HUNG,), 260.0, NOON)
    for _ in range(TRIES + 1):
        book = opened_again(begin(book, Done("hung", first.began, "restart", 60.0, 260.0)))
    assert (book.done[0].outcome, book.done[0].went, book.starts) == (NOT_YET, False, ())
    assert deeds(RESTART, stands(300.0, book=book), 260.0 + AGAIN_S) == ["restart"]


def test_what_is_done_about_a_hang_is_done_about_those_that_a_crash_left_behind() -> None:
    left = Seen("crashed", "Rank 1 died; 3 ranks left alone.", "certain", 100.0, "step 7", stands=True)
    assert deeds(WRAPPED, stands(200.0, left), 900.0, left)[-1] == "stop"
    over = replace(left, stands=False)
    assert deeds(WRAPPED, stands(200.0, over), 900.0, over) == ["notify"]
