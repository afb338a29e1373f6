"""The watch of a guard: each look is judged, told, and held against the policy; deeds go on one at a time beside the watch."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec.structs import replace

from hangtop.common.text import clock, printable
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.feeds.probe_feed import Feed
from hangtop.guard.book_file import BookFile
from hangtop.guard.deeds import Case, Outcome, carry_out
from hangtop.guard.due import Due, awaited, due
from hangtop.guard.episodes import Book, Done, begin, end, seen_of, stand
from hangtop.guard.events import GuardEvent, What, iso, told, with_advice
from hangtop.guard.notices import Notice, NoticeBox, send
from hangtop.guard.policy import HARMFUL, Event, Policy
from hangtop.guard.signs import signs
from hangtop.monitor.headless import StackRequester, settled, states
from hangtop.monitor.monitor import Monitor
from hangtop.monitor.stack_requests import satisfied
from hangtop.records.advice import Advice
from hangtop.records.verdict import Verdict, VerdictChanged
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice

LOOK_S = 1.0
ENDS_AFTER_S = 3.0
"""A run that has ended is watched for so long, and for as long as the policy may still do something."""


class GuardWatch:
    """One guard. `out` takes events, `journal` lines for people. `alive`: a file whose time tells that it looks."""

    def __init__(
        self,
        spec: WatchSpec,
        policy: Policy,
        book_file: BookFile,
        out: TextIO,
        journal: TextIO,
        now: Callable[[], float],
        *,
        dry_run: bool = False,
        alive: Path | None = None,
        subscribers: tuple[Callable[[Snapshot, Verdict], None], ...] = (),
    ) -> None:
        self._spec, self._policy, self._file, self._now = spec, policy, book_file, now
        self._out, self._journal, self._dry_run, self._alive = out, journal, dry_run, alive
        self._subscribers = subscribers
        self.book: Book = book_file.read()
        self.began_at, self._folder = now(), os.getcwd()
        self._signs: dict[Event, str] = {}
        self._at_work: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._box = NoticeBox(policy.notify)
        self._noticed = False
        self._told_problem = ""
        self.verdict: Verdict | None = None

    async def run(self, feed: Feed) -> int:
        """Watch until the run is over and nothing is left to do, or the feed ends. Returns the exit code of the last verdict."""
        monitor, requester = Monitor(self._spec, (self._changed,)), StackRequester(feed)
        self._tell("guard", f"watches {' '.join(self._spec.logs) or 'the run'}")
        over_since: float | None = None
        async for state in states(feed, LOOK_S):
            now = self._now()
            snapshot = monitor.look(state, now, draft=not settled(state))
            self.verdict = monitor.verdict
            requester.follow(snapshot)
            self._stays_alive()
            if not settled(state) and self.verdict.word != "blind":
                continue
            for subscriber in self._subscribers:
                subscriber(snapshot, self.verdict)
            sure = monitor.stands and satisfied(snapshot)
            left = self._weigh(snapshot, self.verdict, now, sure=sure)
            over_since = (over_since or now) if self.verdict.state.ended else None
            if over_since is not None and not left and now - over_since >= ENDS_AFTER_S:
                break
        await self._finish()
        self._tell("guard", "ends")
        return self.verdict.state.exit_code if self.verdict is not None else 4

    def _weigh(self, snapshot: Snapshot, verdict: Verdict, now: float, *, sure: bool) -> bool:
        """Do what is due. `sure`: no calmer verdict waits, and what was to be looked at was. Returns whether more is to come."""
        found: dict[Event, str] = dict(signs(snapshot).items())
        self._tell_signs(found)
        seen = seen_of(verdict, found, now)
        self._keep(stand(self.book, seen, now))
        minute = _minute(now)
        self._send_ready(now)
        if self._at_work is not None and not self._at_work.done():
            return True
        for each in due(self._policy, self.book, seen, now, minute):
            if each.deed in HARMFUL and not sure:
                continue
            self._at_work = asyncio.create_task(self._do(each, snapshot, verdict, now))
            return True
        return awaited(self._policy, self.book, seen, now, minute)

    async def _do(self, due: Due, snapshot: Snapshot, verdict: Verdict, now: float) -> None:
        """One deed, written down before and after."""
        done = Done(due.seen.event, due.since, due.deed, due.when.after_s, now)
        event = self._event("deed", due.seen.said, due, verdict, _advice(snapshot, verdict))
        if due.refused or self._dry_run:
            self._keep(end(begin_unstarted(self.book, done), done.key, due.refused or "would be done (--dry-run)", went=False))
            self._write(
                replace(event, what="outcome", text=due.refused or "would be done", went=None if self._dry_run else False)
            )
            return
        if not self._keep(begin(self.book, done)) and due.deed in HARMFUL:
            self._write(replace(event, what="outcome", text=f"not done, for it could not be written down: {self._file.problem}"))
            return
        self._write(event)
        if due.deed == "notify":
            self._notify(event, verdict, now)
            outcome = Outcome(True, "put to the notices")
        else:
            saved = snapshot.state.checkpoints
            outcome = await carry_out(
                due, Case(self._spec, self._policy, event, now, self._folder, saved.newest if saved else None)
            )
        self._keep(end(self.book, done.key, outcome.text, went=outcome.went))
        self._write(replace(event, what="outcome", text=outcome.text, went=outcome.went, at=iso(self._now())))

    def _changed(self, change: VerdictChanged) -> None:
        self._write(
            replace(self._event("verdict", change.verdict.headline), name=change.verdict.word, verdict=told(change.verdict))
        )
        if self._noticed and change.verdict.state.works and change.verdict.word == "running":
            self._noticed = False
            self._box.put(self._title("it goes on"), change.verdict.headline, urgent=True)

    def _notify(self, event: GuardEvent, verdict: Verdict, now: float) -> None:
        self._noticed = True
        named = ", ".join(culprit.name for culprit in verdict.culprits)
        lines = [event.text, *([f"culprit: {named}"] if named else [])]
        lines += [f"why: {each.cause}\ndo: {each.remedy}" for each in event.advice[:1]]
        kept = [
            f"{done.deed}: {done.outcome}"
            for done in self.book.done
            if done.went and done.since == self.book.since.get(done.event)
        ]
        self._box.put(self._title(str(event.name)), "\n".join([*lines, *kept]))
        self._send_ready(now)

    def _title(self, word: str) -> str:
        return f"hangtop: {word}: {' '.join(self._spec.logs)}"

    def _send_ready(self, now: float) -> None:
        if self._sending is None or self._sending.done():
            notice = self._box.ready(now)
            if notice is not None:
                self._sending = asyncio.create_task(self._send(notice))

    async def _send(self, notice: Notice) -> None:
        why = await send(notice)
        if why:
            self._tell("guard", f"a notice was not sent: {why}")

    def _tell_signs(self, found: dict[Event, str]) -> None:
        for sign, said in found.items():
            if sign not in self._signs:
                self._write(replace(self._event("sign", said), name=sign))
        for sign, said in self._signs.items():
            if sign not in found:
                self._write(replace(self._event("over", said), name=sign))
        self._signs = found

    def _event(
        self, what: What, text: str, due: Due | None = None, verdict: Verdict | None = None, advised: tuple[Advice, ...] = ()
    ) -> GuardEvent:
        event = GuardEvent(iso(self._now()), what, self._spec.logs, text, dry_run=self._dry_run)
        if due is not None:
            event = replace(event, name=due.seen.event, since=iso(due.since), deed=due.deed)
        return with_advice(replace(event, verdict=told(verdict)) if verdict is not None else event, advised)

    def _tell(self, what: What, text: str) -> None:
        self._write(self._event(what, text))

    def _write(self, event: GuardEvent) -> None:
        self._out.write(msgspec.json.encode(event).decode() + "\n")
        self._out.flush()
        words = " ".join(filter(None, (event.name, event.deed, {True: "done:", False: "not done:", None: ""}[event.went])))
        self._journal.write(printable(f"{clock(self._now())}  {event.what:<8} {words} {event.text}") + "\n")
        self._journal.flush()

    def _keep(self, book: Book) -> bool:
        """The book from now on. Whether it is on disk; that it is not is told once."""
        changed, self.book = book != self.book, book
        kept = self._file.write(book) if changed else not self._file.problem
        if self._file.problem and self._file.problem != self._told_problem:
            self._tell("guard", self._file.problem)
        self._told_problem = self._file.problem
        return kept

    def _stays_alive(self) -> None:
        if self._alive is not None:
            try:
                self._alive.touch()
            except OSError as error:
                self._tell("guard", f"{self._alive}: {error.strerror}")
                self._alive = None

    async def _finish(self) -> None:
        """What is under way comes to its end; the last notice is sent."""
        for task in (self._at_work, self._sending):
            if task is not None:
                await task
        if (notice := self._box.ready(float("inf"))) is not None:
            await self._send(notice)


def begin_unstarted(book: Book, done: Done) -> Book:
    """Written down as weighed: no start is counted."""
    return replace(begin(book, done), starts=book.starts)


def _advice(snapshot: Snapshot, verdict: Verdict) -> tuple[Advice, ...]:
    return () if verdict.state.healthy else advice(snapshot, verdict, snapshot.spec.config_dir)


def _minute(now: float) -> int:
    local = time.localtime(now)
    return 60 * local.tm_hour + local.tm_min
