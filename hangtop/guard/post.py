"""Notices that wait to be sent: grouped, and no more than one in a while. That the run goes on is not held back. Pure.

They are part of the guard's book: a guard that ends leaves none behind unsent.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hangtop.guard.policy import Notices

MOST_PARTS = 20
MOST_TRIES = 8
FIRST_PAUSE_S = 15.0
"""Before a notice that was not delivered is sent again; doubled each time."""


class Part(Struct, frozen=True):
    """What is told of one event. `picture`: a file to go with it; `paint`: or the words of `hangtop picture`, which paints one
    when it is sent."""

    title: str
    body: str
    picture: str = ""
    paint: tuple[str, ...] = ()


class Notice(Struct, frozen=True):
    """What the sender is told. `urls`: of Apprise; `places`: theirs in the whole list, by which a person knows them. `picture`,
    `paint`: as of a part."""

    urls: tuple[str, ...]
    title: str
    body: str
    picture: str = ""
    paint: tuple[str, ...] = ()
    places: tuple[int, ...] = ()


class Undelivered(Struct, frozen=True):
    """A notice that some addresses did not take. `places`: theirs in the list of the policy, for an address may hold a secret."""

    title: str
    body: str
    places: tuple[int, ...]
    tries: int
    next_at: float
    picture: str = ""
    paint: tuple[str, ...] = ()


class Post(Struct, frozen=True):
    """`sent_at`: when the last notice went. `urgent`: the next goes at once. `troubled`: a notice told of trouble, so that the
    run goes on is to be told too."""

    waiting: tuple[Part, ...] = ()
    undelivered: tuple[Undelivered, ...] = ()
    sent_at: float | None = None
    urgent: bool = False
    troubled: bool = False


def put(post: Post, part: Part, *, urgent: bool = False) -> Post:
    """One more part of the next notice."""
    return replace(post, waiting=(*post.waiting, part), urgent=post.urgent or urgent)


def next_notice(post: Post, settings: Notices, now: float) -> tuple[Post, Notice | None, int]:
    """The post without what is to be sent now, that notice, and how often it was tried before. News goes before what is tried
    again: an address that takes nothing must not keep it from the others."""
    if not settings.urls:
        return replace(post, waiting=(), undelivered=(), urgent=False), None, 0
    early = post.sent_at is not None and 0 <= now - post.sent_at < settings.every_s
    if post.waiting and (post.urgent or not early):
        return replace(post, waiting=(), sent_at=now, urgent=False), _joined(post.waiting, settings), 0
    again = next((each for each in post.undelivered if now >= each.next_at), None)
    if again is None:
        return post, None, 0
    rest = tuple(each for each in post.undelivered if each is not again)
    places = tuple(place for place in again.places if place < len(settings.urls))
    urls = tuple(settings.urls[place] for place in places)
    told = Notice(urls, again.title, again.body, again.picture, again.paint, places)
    return replace(post, undelivered=rest), told, again.tries


def _joined(parts: tuple[Part, ...], settings: Notices) -> Notice:
    """The title of the newest, and all that came since the last notice."""
    last = parts[-MOST_PARTS:]
    bodies = [part.body if len(parts) == 1 else f"{part.title}\n{part.body}" for part in last]
    picture = next((part.picture for part in reversed(last) if part.picture), "")
    paint = next((part.paint for part in reversed(last) if part.paint), ()) if not picture else ()
    return Notice(settings.urls, parts[-1].title, "\n\n".join(bodies), picture, paint)


def at_once(post: Post, now: float) -> Post:
    """The post whose notices wait for nothing: who sends them ends."""
    soon = tuple(replace(each, next_at=now) for each in post.undelivered)
    return replace(post, undelivered=soon, urgent=True)


def not_delivered(post: Post, notice: Notice, failed: tuple[int, ...], tries: int, settings: Notices, now: float) -> Post:
    """The post with a notice that is to be sent again to those that failed; one that was tried often enough is given up."""
    if tries + 1 >= MOST_TRIES:
        return post
    places = tuple(settings.urls.index(notice.urls[place]) for place in failed)
    next_at = now + FIRST_PAUSE_S * 2**tries
    kept = Undelivered(notice.title, notice.body, places, tries + 1, next_at, notice.picture, notice.paint)
    return replace(post, undelivered=(*post.undelivered, kept))
