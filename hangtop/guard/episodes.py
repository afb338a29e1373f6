"""What stands now, since when, and what was done about it: the book of a guard, which outlives the guard. Pure.

An event is one episode until it stops, and each deed of the policy is done once an episode. A book that is read again after the
guard itself was started anew goes on with the same episode if the run has told nothing new since that began.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from hangtop.guard.policy import Deed, Event
from hangtop.records.verdict import Confidence, Verdict

KEPT = 500
"""Deeds that the book keeps."""
BEGUN = "begun"
NOT_AGAIN = "it was under way when the guard ended, and is not done a second time"


class Seen(Struct, frozen=True):
    """An event that stands now. `news_at`: when the run last told anything new, in unix time; `None` where that is not known."""

    event: Event
    said: str
    confidence: Confidence = "likely"
    news_at: float | None = None


class Done(Struct, frozen=True):
    """One deed for one episode, at unix time `at`. `outcome`: `begun`, then what came of it. `went`: `None` while it goes on."""

    event: Event
    since: float
    deed: Deed
    after_s: float
    at: float
    outcome: str = BEGUN
    went: bool | None = None

    @property
    def key(self) -> tuple[Event, float, Deed, float]:
        return self.event, self.since, self.deed, self.after_s


class Book(Struct, frozen=True):
    """`since`: the episodes that stand now. `starts`: when the run was started again."""

    since: Mapping[Event, float] = {}
    done: tuple[Done, ...] = ()
    starts: tuple[float, ...] = ()


def seen_of(verdict: Verdict, signs: Mapping[Event, str], now: float) -> tuple[Seen, ...]:
    """The word of the verdict, and the signs beside it."""
    news_at = None if verdict.silence_s is None else now - verdict.silence_s
    word = Seen(verdict.word, verdict.headline, verdict.confidence, news_at)
    return (word, *(Seen(sign, said) for sign, said in signs.items()))


def stand(book: Book, seen: tuple[Seen, ...], now: float) -> Book:
    """The book with the episodes that stand at this moment."""
    return replace(book, since={each.event: _since(book, each, now) for each in seen})


def _since(book: Book, seen: Seen, now: float) -> float:
    known = book.since.get(seen.event)
    is_new = known is None or (seen.event in RESTS and seen.news_at is not None and seen.news_at > known)
    return now if known is None or is_new else known


RESTS: frozenset[Event] = frozenset({"stalled", "hung"})
"""While these stand the run tells nothing new: if it has, it went on in between, and this is another episode."""


def begin(book: Book, done: Done) -> Book:
    """Written down before it is done, so that nothing is done twice."""
    starts = (*book.starts, done.at) if done.deed in ("restart", "recover") else book.starts
    return replace(book, done=(*book.done, done)[-KEPT:], starts=starts)


def end(book: Book, key: tuple[Event, float, Deed, float], outcome: str, *, went: bool) -> Book:
    """What came of it."""
    told = (replace(done, outcome=outcome, went=went) if done.key == key else done for done in book.done)
    return replace(book, done=tuple(told))


def opened_again(book: Book) -> Book:
    """The book of a guard that ended, maybe in the middle of a deed."""
    told = (replace(done, outcome=NOT_AGAIN, went=False) if done.went is None else done for done in book.done)
    return replace(book, done=tuple(told))
