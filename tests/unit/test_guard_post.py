"""Notices are grouped, no more than one in a while, that the run goes on is told at once, and what was not taken is sent anew."""

from __future__ import annotations

from hangtop.guard.policy import Notices
from hangtop.guard.post import MOST_TRIES, Notice, Part, Post, at_once, next_notice, not_delivered, put

TO = Notices(urls=("json://127.0.0.1/", "mailto://127.0.0.1/"), every=60)


def ready(post: Post, now: float, settings: Notices = TO) -> tuple[Post, Notice | None]:
    post, notice, _ = next_notice(post, settings, now)
    return post, notice


def test_the_first_goes_at_once_and_later_ones_together() -> None:
    post, first = ready(put(Post(), Part("hung", "Rank 3 stands.")), 0.0)
    assert first == Notice(TO.urls, "hung", "Rank 3 stands.")
    post = put(put(post, Part("nan", "loss: not a number", "a.png")), Part("disk", "/data 99 % full"))
    assert ready(post, 59.0) == (post, None)
    post, second = ready(post, 60.0)
    assert second == Notice(TO.urls, "disk", "nan\nloss: not a number\n\ndisk\n/data 99 % full", "a.png")
    assert ready(post, 600.0) == (post, None)


def test_that_it_goes_on_is_not_held_back() -> None:
    post, _ = ready(put(Post(), Part("hung", "Rank 3 stands.")), 0.0)
    _, notice = ready(put(post, Part("it goes on", "Running as before."), urgent=True), 1.0)
    assert notice is not None


def test_a_clock_that_went_back_holds_no_notice_back() -> None:
    post, _ = ready(put(Post(), Part("hung", "")), 10_000.0)
    assert ready(put(post, Part("nan", "")), 100.0)[1] is not None


def test_an_address_that_takes_nothing_keeps_no_news_from_the_others() -> None:
    post, notice = ready(put(Post(), Part("hung", "Rank 3 stands.")), 0.0)
    assert notice is not None
    post = not_delivered(post, notice, (1,), 0, TO, 0.0)
    post, news = ready(at_once(put(post, Part("finished", "")), 1.0), 1.0)
    assert news is not None
    assert (news.title, news.urls) == ("finished", TO.urls)
    post, again = ready(post, 1.0)
    assert again is not None
    assert (again.title, again.places) == ("hung", (1,))


def test_without_an_address_nothing_is_kept() -> None:
    post, notice = ready(put(Post(), Part("hung", "Rank 3 stands.")), 0.0, Notices())
    assert (post.waiting, notice) == ((), None)


def test_only_who_did_not_take_it_gets_it_again_later_and_later_and_not_for_ever() -> None:
    post, notice = ready(put(Post(), Part("hung", "Rank 3 stands.")), 0.0)
    assert notice is not None
    post, tries, now, waits = not_delivered(post, notice, (1,), 0, TO, 0.0), 0, 0.0, []
    while post.undelivered:
        waits.append(post.undelivered[0].next_at - now)
        assert ready(post, post.undelivered[0].next_at - 0.1)[1] is None
        now = post.undelivered[0].next_at
        post, notice, tries = next_notice(post, TO, now)
        assert notice is not None
        assert notice.urls == ("mailto://127.0.0.1/",)
        post = not_delivered(post, notice, (0,), tries, TO, now)
    assert waits == [15.0 * 2**number for number in range(MOST_TRIES - 1)]
