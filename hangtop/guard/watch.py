"""The watch of a guard: each look is judged, told, and held against the policy; deeds go on one at a time beside the watch."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import aclosing
from functools import partial

from msgspec.structs import replace

from hangtop.common import clock
from hangtop.diagnosis.facts.unseen_nodes import unseen_nodes
from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.feeds.probe_feed import Feed
from hangtop.guard.book_file import BookFile
from hangtop.guard.case import Case, Outcome
from hangtop.guard.deeds import carry_on, carry_out
from hangtop.guard.due import Due, awaited, due
from hangtop.guard.episodes import (
    NOT_AGAIN,
    RESTS,
    Book,
    Course,
    Done,
    Key,
    begin,
    end,
    event_of,
    left_half,
    not_after,
    outcome_of,
    seen_of,
    stand,
    under_way,
    untried,
)
from hangtop.guard.events import GuardEvent, iso, with_advice
from hangtop.guard.lapses import Lapses
from hangtop.guard.notifier import Notifier, paint_of, part_of
from hangtop.guard.policy import HARMFUL, NO_TROUBLE, Event, Policy
from hangtop.guard.post import Part, Post
from hangtop.guard.signs import signs
from hangtop.guard.teller import Teller
from hangtop.monitor.headless import StackRequester, settled, states
from hangtop.monitor.monitor import Looker, Monitor
from hangtop.monitor.stack_requests import satisfied
from hangtop.records.advice import Advice
from hangtop.records.checkpoints import GUESSED
from hangtop.records.verdict import STATES, Verdict, VerdictChanged
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState

LOOK_S = 1.0
ENDS_AFTER_S = 3.0
"""A run that has ended is watched for so long, and for as long as the policy may still do something."""
DEAD_FOR_S = 15.0
"""A run whose first process has ended is over after so long, whatever its log says."""
CUT_SHORT_S = 60.0
"""What a guard that was killed had begun goes on for so long."""
SETTLES_S = 20.0
"""After a deed that ended or started processes, what is seen for so long may still be the old run."""


class GuardWatch:
    """One guard. `may_harm`: why the run may not be ended or started now, in words; empty if it may. `has_ended`: whether a run
    that the guard started has. `lookers` see each look."""

    def __init__(
        self,
        spec: WatchSpec,
        policy: Policy,
        book_file: BookFile,
        teller: Teller,
        *,
        dry_run: bool = False,
        may_harm: Callable[[Snapshot], str] = lambda _: "",
        has_ended: Callable[[], bool] = lambda: False,
        lookers: tuple[Looker, ...] = (),
        now: Callable[[], float] = clock.now,
        lapses: Lapses | None = None,
    ) -> None:
        self._spec, self._policy, self._file, self._teller = spec, policy, book_file, teller
        self._dry_run, self._may_harm, self._has_ended = dry_run, may_harm, has_ended
        self._lookers, self._now = lookers, now
        self._lapses = lapses or Lapses()
        self._folder = os.getcwd()
        self._notifier = Notifier(policy.notify, spec, book_file.book.post, self._keep_post, self._not_sent)
        self._monitor = self._new_monitor()
        self._feed: Feed | None = None
        self._requester: StackRequester | None = None
        self._at_work: asyncio.Task[None] | None = None
        self._called_off = asyncio.Event()
        self._doubted_until, self._spared_until = self._in_doubt(), now() + spec.stall_s
        self._over_since: float | None = None
        self._told_problem = ""
        self._ends = self._harms = False
        self.verdict: Verdict | None = None
        self.told_to_end = ""
        """Why the run ends by somebody's will, in words: then it is not started again, and nothing else is waited for."""

    def _in_doubt(self) -> float:
        """Until when: what the guard before had begun may still be under way, in a process of its own."""
        cut_short = (done for done in self._file.book.done if done.outcome == NOT_AGAIN and done.deed in HARMFUL)
        return max((done.at + CUT_SHORT_S for done in cut_short), default=0.0)

    def close(self) -> None:
        """End the watch; a deed that is under way comes to its end."""
        self._ends = True
        if self._feed is not None:
            self._feed.close()

    async def run(self, feed_of: Callable[[], Feed]) -> int:
        """Watch until the run is over and nothing is left to do, or `close`. Returns the exit code of the last verdict."""
        self._teller.say("guard", f"watches {' '.join(self._spec.logs) or 'the run'}")
        while (lapse := await self._watch(feed_of())) and not self._ends:
            self._begin_anew(lapse)
        if self._at_work is not None:
            await self._at_work
        await self._notifier.finish(self._now())
        self._teller.say("guard", "ends")
        self._teller.end()
        return STATES["blind"].exit_code if self.verdict is None else self.verdict.state.exit_code

    async def _watch(self, feed: Feed) -> str:
        """Until the watch is over: empty; or until the guard has not looked for a while: why."""
        self._feed, self._requester = feed, StackRequester(feed)
        self._lapses.since_last()
        async with aclosing(states(feed, LOOK_S)) as every:
            async for state in every:
                if lapse := self._lapses.since_last():
                    return lapse
                if self.look(state):
                    break
        return ""

    def _begin_anew(self, lapse: str) -> None:
        """After a lapse no silence is believed that was not watched from now on."""
        clock.set_again()
        now = self._now()
        self._teller.say("guard", f"{lapse}: the watch begins anew")
        self._monitor = self._new_monitor()
        self._doubted_until = self._spared_until = now + self._spec.stall_s
        self._keep(not_after(self._file.book, now))

    def look(self, state: RunState) -> bool:
        """Judge this state and do what is due. Returns whether the watch is over."""
        now = self._now()
        snapshot = take_snapshot(state, self._spec, now)
        doubted = self._harms or now < self._doubted_until
        draft = not settled(state) or (doubted and not judge(snapshot).state.works)
        verdict = self.verdict = self._monitor.judge(snapshot, draft=draft)
        if self._requester is not None:
            self._requester.follow(snapshot)
        self._teller.catch_up()
        if verdict.state.works:
            self._called_off.set()
        if draft and (doubted or verdict.word != "blind"):
            return False
        sure = self._monitor.stands and satisfied(snapshot)
        left = self._weigh(snapshot, verdict, sure=sure)
        over = verdict.state.ended or self._has_ended()
        self._over_since = (self._over_since or now) if over else None
        if self._over_since is None or self.acts:
            return False
        over_s = now - self._over_since
        waits = left and verdict.state.ended and not self.told_to_end
        return over_s >= (ENDS_AFTER_S if verdict.state.ended else DEAD_FOR_S) and not waits

    @property
    def acts(self) -> bool:
        """Whether a deed is under way."""
        return self._at_work is not None and not self._at_work.done()

    def _weigh(self, snapshot: Snapshot, verdict: Verdict, *, sure: bool) -> bool:
        """Do what is due. `sure`: no calmer verdict waits, and what was to be looked at was. Returns whether more is to come."""
        now = snapshot.now
        found: dict[Event, str] = dict(signs(snapshot).items())
        seen = seen_of(snapshot, verdict, found)
        before, book = self._file.book, stand(self._file.book, seen, now)
        self._keep(book)
        self._tell_signs(before, book, found)
        self._notifier.send_ready(now)
        if self.acts:
            return True
        if (half := left_half(book)) is not None:
            self._at_work = asyncio.create_task(self._carry_on(half, snapshot, verdict))
            return True
        minute = _minute()
        for each in due(self._policy, book, seen, now, minute):
            if each.deed in HARMFUL and not each.refused:
                if not sure or (now < self._spared_until and (each.seen.event in RESTS or each.seen.stands)):
                    continue
                each = replace(each, refused=self.told_to_end or self._may_harm(snapshot))
            self._at_work = asyncio.create_task(self._do(each, snapshot, verdict))
            return True
        return awaited(self._policy, book, seen, now, minute)

    async def _do(self, due: Due, snapshot: Snapshot, verdict: Verdict) -> None:
        """One deed, written down before and after."""
        now, harms = snapshot.now, due.deed in HARMFUL
        done = Done(due.seen.event, due.began, due.deed, due.when.after_s, now)
        event = with_advice(self._teller.of_deed(due, verdict), _advice(snapshot, verdict))
        if due.refused or self._dry_run:
            text = due.refused or "would be done"
            self._keep(end(replace(begin(self._file.book, done), starts=self._file.book.starts), done.key, text, went=False))
            self._teller.came_of(event, text, went=False if due.refused else None)
            return
        said_before = outcome_of(self._file.book, done.key)
        if not self._keep(begin(self._file.book, done)) and harms:
            text = f"it could not be written down: {self._file.problem}"
            self._keep(untried(end(self._file.book, done.key, text, went=False, nothing=True), done.key))
            if text != said_before:
                self._teller.came_of(event, text, went=False)
            return
        if not harms:
            self._teller.tell(event)
        self._called_off.clear()
        self._harms = harms
        if due.deed == "notify":
            self._notifier.put(self._part(due, event, verdict), trouble=due.seen.event not in NO_TROUBLE)
            outcome = Outcome(True, "put to the notices")
        else:
            outcome = await carry_out(due, self._case(snapshot, done.key, event))
        self._has_acted(done, event, outcome)

    async def _carry_on(self, half: Done, snapshot: Snapshot, verdict: Verdict) -> None:
        """The rest of a deed whose guard was killed. That guard has told that it began."""
        event = self._teller.event("deed", "", name=half.event, verdict=verdict)
        event = replace(event, since=iso(half.began), deed=half.deed)
        self._teller.say("guard", "goes on with a restart that a guard before it has left half done")
        self._harms = True
        self._has_acted(half, event, await carry_on(half, self._case(snapshot, half.key, event)))

    def _case(self, snapshot: Snapshot, key: Key, event: GuardEvent) -> Case:
        saved = snapshot.state.checkpoints
        return Case(
            self._spec,
            self._policy,
            event,
            snapshot.now,
            self._folder,
            self._called_off,
            partial(self._begins, key, event),
            unwanted=lambda: self.told_to_end,
            checkpoints=saved.directory if saved is not None and saved.found_by != GUESSED else None,
            told_at=snapshot.log.told_at,
            lives=any(not each.exited for each in snapshot.procs.processes),
            unseen=bool(unseen_nodes(snapshot)),
        )

    def _has_acted(self, done: Done, event: GuardEvent, outcome: Outcome) -> None:
        """Written down and told. What was seen until now may be of the old run."""
        self._harms = False
        if done.deed in HARMFUL and not outcome.nothing:
            self._doubted_until = self._now() + SETTLES_S
            self._monitor = self._new_monitor()
        self._keep(end(self._file.book, done.key, outcome.text, went=outcome.went, nothing=outcome.nothing))
        self._teller.came_of(event, outcome.text, went=outcome.went)
        self._notifier.send_ready(self._now())

    def _begins(self, key: Key, event: GuardEvent, course: Course | None) -> bool:
        """From here on the run may be ended or started. Whether that is on disk."""
        told = any(done.key == key and done.under_way for done in self._file.book.done)
        if not self._keep(under_way(self._file.book, key, course)):
            return False
        if not told:
            self._teller.tell(event)
        return True

    def _part(self, due: Due, event: GuardEvent, verdict: Verdict) -> Part:
        """What a notice tells of it, with what was kept as evidence so far."""
        kept = [(done.deed, done.outcome) for done in self._file.book.done if done.went and done.began == due.began]
        evidence = [each for each in kept if each[0] != "notify"]
        part = part_of(due.seen.event, event.text, self._spec, verdict.culprits, event.advice, evidence)
        return part if part.picture or due.seen.event in NO_TROUBLE else replace(part, paint=paint_of(self._spec))

    def _keep_post(self, post: Post) -> None:
        self._file.keep(replace(self._file.book, post=post))

    def _not_sent(self, why: str) -> None:
        if why:
            self._teller.say("guard", f"a notice was not sent: {why}")

    def _new_monitor(self) -> Monitor:
        return Monitor(self._spec, (self._changed,), self._lookers)

    def _changed(self, change: VerdictChanged) -> None:
        """Tell a change of the verdict, unless the guard before this one has told the same."""
        said = event_of(change.verdict), change.verdict.headline
        if said != self._file.book.said:
            self._keep(replace(self._file.book, said=said))
            self._teller.tell(self._teller.event("verdict", said[1], name=said[0], verdict=change.verdict))
        self._notifier.changed(change)

    def _tell_signs(self, before: Book, book: Book, found: dict[Event, str]) -> None:
        for sign, said in found.items():
            if sign not in before.episodes:
                self._teller.tell(self._teller.event("sign", said, name=sign))
        for event in before.episodes:
            if event not in book.episodes and event not in STATES:
                self._teller.tell(self._teller.event("over", f"{event} is over", name=event))

    def _keep(self, book: Book) -> bool:
        """The book from now on. Whether it is on disk; that it is not is told once."""
        kept = self._file.keep(book)
        if self._file.problem != self._told_problem:
            self._told_problem = self._file.problem
            self._teller.say("guard", self._told_problem or f"{self._file.path} is written again")
        return kept


def _advice(snapshot: Snapshot, verdict: Verdict) -> tuple[Advice, ...]:
    return () if verdict.state.healthy else advice(snapshot, verdict, snapshot.spec.config_dir)


def _minute() -> int:
    """Of the day, by the clock on the wall."""
    local = time.localtime()
    return 60 * local.tm_hour + local.tm_min
