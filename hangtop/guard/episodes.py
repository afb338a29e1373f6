"""What stands now, since when, and what was done about it: the book of a guard, which outlives the guard. Pure.

An event is one episode until it is over, and each deed of the policy is done once an episode. A hang is over when the run has
told something new, whatever was said of it in between; a sign when it was away for a while. So a guard that is started anew, or
that looks at a verdict which wavers, goes on with the same episode.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hangtop.diagnosis.facts.author_fate import at_work
from hangtop.diagnosis.rules.end_rules import by_you, is_run
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.guard.policy import HARMFUL, Deed, Event
from hangtop.guard.post import Post
from hangtop.records.verdict import Confidence, Verdict

KEPT = 500
"""Deeds that the book keeps."""
CALM_S = 60.0
"""A sign that was away for so long is over."""
TRIES, AGAIN_S = 3, 60.0
"""A deed of which nothing was done, because this machine could not be looked at in time, is tried so often, with this pause."""
BEGUN = "begun"
NOT_YET = "the guard ended before it had begun"
NOT_AGAIN = "it was under way when the guard ended, and is not done a second time"
RESTS: frozenset[Event] = frozenset({"stalled", "hung"})
"""While these stand the run tells nothing new."""
_DIGITS = re.compile(r"\d+")

Key = tuple[Event, float, Deed, float]
Part = Literal["stops", "stopped", "starts"]
"""Of a restart by the command of the policy: the old run is being stopped; it was proven to be gone, and nothing was started yet;
from here on the new one may have been."""


class Seen(Struct, frozen=True):
    """An event that stands now. `news_at`: when the run last told anything new, in unix time; `None` where that is not known.
    `mark`: how far the run has come: it changes with what a run tells, not with a heartbeat. `attempt`: which start of it, in
    its log; `started_at`: when the newest process that writes it was started. `stands`: of a crash, some of its processes are
    left, and nothing comes from them: what a policy does about a hang it does about these."""

    event: Event
    said: str
    confidence: Confidence = "likely"
    news_at: float | None = None
    mark: str = ""
    attempt: int = 1
    started_at: float = 0.0
    stands: bool = False

    def is_among(self, events: tuple[Event, ...]) -> bool:
        """Whether an entry of the policy for these events is meant."""
        return self.event in events or (self.stands and "hung" in events)


class Episode(Struct, frozen=True):
    """`began` names it. `since`: it stands without a break since then. `left`: when it was last seen to be away."""

    began: float
    since: float
    mark: str = ""
    attempt: int = 1
    left: float | None = None


class Course(Struct, frozen=True):
    """How far a restart by the command of the policy has come, and what is to be started: `words` in `folder`, with the output in
    `log` (absolute). `known`: pid and start time of the last start of this log by then, `None` without one: whoever has another
    one has started the run since. `logged_bytes`: of the log of actions by then. `at`: unix time at which this part began."""

    part: Part
    words: tuple[str, ...]
    folder: str
    log: str
    at: float
    known: tuple[int, int] | None = None
    logged_bytes: int = 0


class Done(Struct, frozen=True):
    """One deed for one episode, at unix time `at`. `outcome`: `begun`, then what came of it. `went`: `None` while it goes on.
    `under_way`: of what ends or starts a run: from here on something may have been changed. `course`: how far that has come, if
    the guard itself does it part by part. `nothing`: it ended before it had changed anything. `tries`: how often it was begun."""

    event: Event
    began: float
    deed: Deed
    after_s: float
    at: float
    outcome: str = BEGUN
    went: bool | None = None
    under_way: bool = False
    nothing: bool = False
    tries: int = 1
    course: Course | None = None

    @property
    def key(self) -> Key:
        return self.event, self.began, self.deed, self.after_s

    @property
    def settled(self) -> bool:
        """Whether it is not to be begun again."""
        return not self.nothing or self.tries >= TRIES


class Book(Struct, frozen=True):
    """`episodes`: those that are not over. `starts`: when it was begun to start the run again; `restarted_at`: when that last
    went well. `post`: notices that wait. `said`: the word and headline that were told last. `started_at`: when the guard began
    to start the run itself, `None` once that has ended."""

    episodes: Mapping[Event, Episode] = {}
    done: tuple[Done, ...] = ()
    starts: tuple[float, ...] = ()
    restarted_at: float = 0.0
    post: Post = Post()
    said: tuple[str, str] | None = None
    started_at: float | None = None


def event_of(verdict: Verdict) -> Event:
    """The event that a verdict is."""
    return "ended" if verdict.word == "finished" and verdict.rule == by_you.__name__ else verdict.word


def seen_of(snapshot: Snapshot, verdict: Verdict, signs: Mapping[Event, str]) -> tuple[Seen, ...]:
    """The word of the verdict, and the signs beside it."""
    now = snapshot.now
    news_at = None if verdict.silence_s is None else now - verdict.silence_s
    started_at = max((writer.started_at for writer in snapshot.procs.writers if is_run(writer)), default=0.0)
    told = mark_of(snapshot), snapshot.log.attempt, started_at
    stands = verdict.word == "crashed" and snapshot.is_quiet and bool(at_work(snapshot))
    word = Seen(event_of(verdict), verdict.headline, verdict.confidence, news_at, *told, stands=stands)
    return (word, *(replace(word, event=sign, said=said, confidence="likely", stands=False) for sign, said in signs.items()))


def mark_of(snapshot: Snapshot) -> str:
    """Attempt, step, stage and last line; without numbers, which a heartbeat counts up."""
    log = snapshot.log
    stage = log.stages[-1].offset if log.stages else ""
    return f"{log.attempt} {log.progress.step} {stage} {_DIGITS.sub('#', log.last_line or '')}"


def stand(book: Book, seen: tuple[Seen, ...], now: float) -> Book:
    """The book with the episodes that are not over at this moment."""
    standing = {each.event: _standing(book, each, now) for each in seen}
    away = {event: _away(episode, now) for event, episode in book.episodes.items() if event not in standing}
    kept = {event: episode for event, episode in away.items() if not _is_over(event, episode, seen[0], now)}
    return replace(book, episodes={**standing, **kept})


def _standing(book: Book, seen: Seen, now: float) -> Episode:
    known = book.episodes.get(seen.event)
    if known is None or _is_another(book, known, seen):
        return Episode(now, now, seen.mark, seen.attempt)
    return known if known.left is None else replace(known, since=now, left=None)


def _is_another(book: Book, known: Episode, seen: Seen) -> bool:
    """Whether the run was started again, or has told something new, since this hang or crash began."""
    restarted = known.began < book.restarted_at
    if seen.event == "crashed":
        return restarted or seen.attempt != known.attempt or seen.started_at > known.began
    told = seen.news_at is not None and seen.news_at >= book.restarted_at
    return seen.event in RESTS and ((restarted and told) or _has_moved(known, seen))


def _has_moved(known: Episode, seen: Seen) -> bool:
    return seen.mark != known.mark and seen.news_at is not None and seen.news_at > known.began


def _away(episode: Episode, now: float) -> Episode:
    return episode if episode.left is not None else replace(episode, left=now)


def _is_over(event: Event, episode: Episode, word: Seen, now: float) -> bool:
    """Of an event that does not stand now."""
    if event in RESTS:
        return _has_moved(episode, word)
    return episode.left is not None and now - episode.left >= CALM_S


def begin(book: Book, done: Done) -> Book:
    """Written down before it is done, so that nothing is done twice."""
    before = next((each for each in book.done if each.key == done.key), None)
    tried = done if before is None else replace(done, tries=before.tries + 1)
    others = tuple(each for each in book.done if each.key != done.key)
    starts = (*book.starts, done.at) if done.deed in ("restart", "recover") else book.starts
    return replace(book, done=(*others, tried)[-KEPT:], starts=starts)


def end(book: Book, key: Key, outcome: str, *, went: bool, nothing: bool = False) -> Book:
    """What came of it. `nothing`: nothing was changed, so no start is counted."""
    ended = next((done for done in book.done if done.key == key), None)
    told = tuple(replace(done, outcome=outcome, went=went, nothing=nothing) if done is ended else done for done in book.done)
    if ended is None or ended.deed not in ("restart", "recover"):
        return replace(book, done=told)
    counted = tuple(at for at in book.starts if not nothing or at != ended.at)
    return replace(book, done=told, starts=counted, restarted_at=ended.at if went else book.restarted_at)


def under_way(book: Book, key: Key, course: Course | None = None) -> Book:
    """Written down before anything is changed: until then a guard that is killed has done nothing. `course`: the part that begins
    now."""
    changed = (replace(done, under_way=True, course=course) if done.key == key else done for done in book.done)
    return replace(book, done=tuple(changed))


def left_half(book: Book) -> Done | None:
    """What a guard that was killed left between two of its parts: the next one goes on with it."""
    return next((done for done in book.done if done.went is None and done.course is not None), None)


def outcome_of(book: Book, key: Key) -> str:
    """What came of this deed the last time; empty where it was not tried."""
    return next((done.outcome for done in book.done if done.key == key), "")


def untried(book: Book, key: Key) -> Book:
    """The book in which the last try of this deed, which never came to be one, does not count."""
    told = (replace(done, tries=done.tries - 1) if done.key == key else done for done in book.done)
    return replace(book, done=tuple(told))


def opened_again(book: Book) -> Book:
    """The book of a guard that ended, maybe in the middle of a deed. What was planned only is to be done still, and what has
    parts stays open: see `left_half`."""
    for done in (each for each in book.done if each.went is None and each.course is None):
        if done.deed in HARMFUL and not done.under_way:
            book = untried(end(book, done.key, NOT_YET, went=False, nothing=True), done.key)
        else:
            book = end(book, done.key, NOT_AGAIN, went=False)
    return book


def not_after(book: Book, now: float) -> Book:
    """The book after a clock went back: nothing in it stands since a time that is still to come."""
    episodes = {event: replace(each, since=min(each.since, now)) for event, each in book.episodes.items()}
    return replace(book, episodes=episodes, starts=tuple(min(at, now) for at in book.starts))
