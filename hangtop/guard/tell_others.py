"""Tells others, by Apprise, what happens to a run while somebody watches it: as a guard does that has no policy."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.feeds.probe_feed import Feed
from hangtop.feeds.troubled import TroubledFeed
from hangtop.guard.due import due
from hangtop.guard.episodes import Book, Done, begin, end, seen_of, stand
from hangtop.guard.notifier import Notifier, paint_of, part_of
from hangtop.guard.policy import Event, Notices, Policy, When
from hangtop.guard.post import Part, Post
from hangtop.monitor.stack_requests import satisfied
from hangtop.records.verdict import Verdict, VerdictChanged
from hangtop.remedies.advise import advice

TELL = Policy(when=(When(("stalled", "hung", "crashed", "finished", "ended"), "notify", confidence="possible"),))
PATIENCE_S = 15.0
"""A notice waits so long for the looks that tell who is to blame."""


class TellOthers:
    """A subscriber of the monitor, which also sees each look. `urls`: of Apprise. Nothing waits for the senders, which outlive
    the screen."""

    def __init__(self, urls: tuple[str, ...]) -> None:
        self._settings = Notices(urls=urls)
        self._notifier: Notifier | None = None
        self._book = Book()
        self._seen: tuple[Snapshot, Verdict] | None = None
        self._begun = False
        self._found_ended = False
        self._bundles: tuple[tuple[str, str], ...] = ()
        self.problem: str | None = None
        """Why the last notice was not delivered, and what tells more; empty where it was, `None` where none was sent."""

    def __call__(self, change: VerdictChanged) -> None:
        """From the first change on the verdict is no draft."""
        if not self._begun:
            self._begun, self._found_ended = True, change.verdict.word == "finished"
        if change.verdict.word == "running":
            self._bundles, self._found_ended = (), False
        if self._notifier is not None:
            self._notifier.changed(change)

    def look(self, snapshot: Snapshot, verdict: Verdict) -> None:
        """Put what is to be told, and send what is ready."""
        self._seen = snapshot, verdict
        if self._notifier is None:
            self._notifier = Notifier(self._settings, snapshot.spec, Post(), lambda _: None, self._failed)
        if self._begun:
            self._weigh(snapshot, verdict, self._notifier)
        self._notifier.send_ready(snapshot.now)

    def bundled(self, place: str) -> None:
        """Somebody has made a bundle. Who was told of the trouble is told of that too."""
        self._bundles = (*self._bundles, ("bundle", place))
        if self._seen is not None and self._notifier is not None and self._notifier.told_trouble:
            snapshot, verdict = self._seen
            self._notifier.put(part_of(verdict.word, verdict.headline, snapshot.spec, (), (), self._bundles[-1:]), trouble=True)

    def around(self, feed: Feed) -> Feed:
        """The feed that says among its sources why a notice was not delivered, and with whose end the last notices go."""
        return TroubledFeed(feed, "notify", lambda: self.problem, self.leave)

    def leave(self) -> None:
        """Leave what waits to senders of their own."""
        if self._notifier is not None and self._seen is not None:
            self._notifier.leave(self._seen[0].now)

    def _weigh(self, snapshot: Snapshot, verdict: Verdict, notifier: Notifier) -> None:
        now, seen = snapshot.now, seen_of(snapshot, verdict, {})
        self._book = stand(self._book, seen, now)
        for each in due(TELL, self._book, seen, now, 0):
            if not satisfied(snapshot) and now - each.since < PATIENCE_S:
                continue
            done = Done(each.seen.event, each.began, each.deed, each.when.after_s, now)
            self._book = end(begin(self._book, done), done.key, "", went=True)
            if not self._found_ended:
                notifier.put(self._part(each.seen.event, snapshot, verdict), trouble=verdict.state.trouble)

    def _part(self, event: Event, snapshot: Snapshot, verdict: Verdict) -> Part:
        spec, told = snapshot.spec, () if verdict.state.healthy else advice(snapshot, verdict, snapshot.spec.config_dir)
        part = part_of(event, verdict.headline, spec, verdict.culprits, told, self._bundles)
        return replace(part, paint=paint_of(spec)) if verdict.state.trouble else part

    def _failed(self, why: str) -> None:
        self.problem = why
