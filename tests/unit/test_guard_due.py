"""What a policy wants done, and that nothing is done twice."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.guard.due import awaited, due
from hangtop.guard.episodes import NOT_AGAIN, Book, Done, Seen, begin, end, opened_again, stand
from hangtop.guard.policy import Policy, Restarts, When

HUNG = Seen("hung", "Rank 3 stands.", "likely", news_at=100.0)
RESTART = Policy(when=(When("hung", "restart", after=60),), restart=Restarts(most=2, back_off=100))
NOON = 720


def deeds(policy: Policy, book: Book, now: float, *seen: Seen) -> list[str]:
    return [each.deed for each in due(policy, book, seen or (HUNG,), now, NOON)]


def stands(now: float, *seen: Seen, book: Book | None = None) -> Book:
    return stand(book or Book(), seen or (HUNG,), now)


def done(book: Book, policy: Policy, now: float) -> Book:
    """The first deed that is due, done well."""
    first = due(policy, book, (HUNG,), now, NOON)[0]
    begun = begin(book, Done(first.seen.event, first.since, first.deed, first.when.after_s, now))
    return end(begun, first.key, "well", went=True)


def test_a_deed_waits_until_the_event_has_stood_long_enough() -> None:
    book = stands(200.0)
    assert deeds(RESTART, book, 259.0) == []
    assert deeds(RESTART, book, 260.0) == ["restart"]
    assert awaited(RESTART, book, (HUNG,), 259.0, NOON)


def test_it_is_done_once_an_episode() -> None:
    book = done(stands(200.0), RESTART, 260.0)
    assert deeds(RESTART, stands(270.0, book=book), 400.0) == []
    went_on = stands(280.0, Seen("running", ""), book=book)
    assert deeds(RESTART, stands(300.0, replace(HUNG, news_at=290.0), book=went_on), 500.0) == ["restart"]


def test_a_run_that_told_something_new_in_between_hangs_anew() -> None:
    book = done(stands(200.0), RESTART, 260.0)
    again = stands(600.0, replace(HUNG, news_at=550.0), book=book)
    assert deeds(RESTART, again, 700.0) == ["restart"]


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
    second = stands(300.0, replace(HUNG, news_at=290.0), book=first)
    hung = replace(HUNG, news_at=290.0)
    assert due(RESTART, second, (hung,), 359.9, NOON) == []
    assert [each.deed for each in due(RESTART, second, (hung,), 361.0, NOON)] == ["restart"]
    twice = replace(second, starts=(260.0, 361.0), done=())
    (refused,) = due(RESTART, twice, (hung,), 900.0, NOON)
    assert "started again 2 times already" in refused.refused
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
    begun = opened_again(begin(book, Done("hung", first.since, "restart", 60.0, 260.0)))
    assert (begun.done[0].outcome, begun.done[0].went) == (NOT_AGAIN, False)
    assert deeds(RESTART, stands(300.0, book=begun), 1000.0) == []
    assert begun.starts == (260.0,)
