"""The one place that judges a run moment by moment, keeps its verdict from flapping, and says when the verdict changed. Pure.

Whatever else should learn of a change (a line of plain output, a webhook, a guard) is a subscriber: a callable that takes a
`VerdictChanged`. Nobody compares verdicts for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.monitor.stack_requests import watch_comes
from hangtop.records.verdict import Subscriber, Verdict, VerdictChanged, VerdictWord
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

Looker = Callable[[Snapshot, Verdict], None]
"""Sees each look, drafts among them, after the subscribers."""
HOLD_S = 5.0
"""A verdict that is no graver than the one before must stand for this long, unless output resumed."""
RESUMED_S = 5.0
ENTRIES = 200
SURER = {"possible": 0, "likely": 1, "certain": 2}


class VerdictEntry(Struct, frozen=True):
    """From `at` (unix time) on this was said."""

    at: float
    word: VerdictWord
    headline: str


class Timeline(Struct, frozen=True):
    """What is said now, what was said before, and what waits to be said since when."""

    said: Verdict | None = None
    entries: tuple[VerdictEntry, ...] = ()
    pending: tuple[object, ...] | None = None
    pending_since: float = 0.0


def follow(timeline: Timeline, verdict: Verdict, now: float) -> Timeline:
    """The timeline after this verdict. `said` has its numbers fresh, also while a change is held back."""
    said = timeline.said
    if said is None or meaning(said) == meaning(verdict):
        first = () if said is not None else (VerdictEntry(now, verdict.word, verdict.headline),)
        return replace(timeline, said=verdict, entries=(*timeline.entries, *first), pending=None)
    held_since = timeline.pending_since if timeline.pending == meaning(verdict) else now
    if not _at_once(said, verdict) and now - held_since < HOLD_S:
        still = replace(said, silence_s=verdict.silence_s, limit_s=verdict.limit_s, stage=verdict.stage)
        return replace(timeline, said=still, pending=meaning(verdict), pending_since=held_since)
    entry = VerdictEntry(now, verdict.word, verdict.headline)
    return Timeline(said=verdict, entries=(*timeline.entries, entry)[-ENTRIES:])


def _at_once(said: Verdict, verdict: Verdict) -> bool:
    """Graver, surer of the same, ended, or output resumed."""
    if verdict.word == "finished" or verdict.state.urgency > said.state.urgency:
        return True
    if verdict.word == said.word and SURER[verdict.confidence] > SURER[said.confidence]:
        return True
    before = said.silence_s or 0.0
    return verdict.silence_s is not None and verdict.silence_s < min(RESUMED_S, before)


def meaning(verdict: Verdict) -> tuple[object, ...]:
    """What makes two verdicts the same, whatever their numbers say."""
    culprits = frozenset((culprit.rank, culprit.pid) for culprit in verdict.culprits)
    return verdict.word, verdict.kind, culprits, verdict.at_work


class Monitor:
    """What is said of one run now, and what was said before. It has no clock: each look brings its own time."""

    def __init__(self, spec: WatchSpec, subscribers: Iterable[Subscriber] = (), lookers: Iterable[Looker] = ()) -> None:
        self.timeline = Timeline()
        self._spec = spec
        self._subscribers, self._lookers = tuple(subscribers), tuple(lookers)
        self._draft = True
        self._announced: Verdict | None = None

    def look(self, state: RunState, now: float, *, draft: bool = False) -> Snapshot:
        """Judge this state. `draft`: as in `judge`."""
        snapshot = take_snapshot(state, self._spec, now)
        self.judge(snapshot, draft=draft)
        return snapshot

    def judge(self, snapshot: Snapshot, *, draft: bool = False) -> Verdict:
        """Judge this snapshot, and tell the subscribers if that changes what is said.

        `draft`: too little is known yet to hold on to the verdict. The next look begins anew, and nobody is told, unless it is
        that nothing can be seen.
        """
        self.timeline = follow(
            Timeline() if self._draft else self.timeline, judge(snapshot, watched=not watch_comes(snapshot)), snapshot.now
        )
        self._draft = draft
        if not draft or self.verdict.word == "blind":
            self._announce(snapshot.now)
        for looker in self._lookers:
            looker(snapshot, self.verdict)
        return self.verdict

    def _announce(self, now: float) -> None:
        before, self._announced = self._announced, self.verdict
        if before is None or (before.headline, *meaning(before)) != (self.verdict.headline, *meaning(self.verdict)):
            change = VerdictChanged(now, before, self.verdict)
            for subscriber in self._subscribers:
                subscriber(change)

    @property
    def verdict(self) -> Verdict:
        """What is said now. Raises `LookupError` before the first look."""
        if self.timeline.said is None:
            raise LookupError("nothing was looked at yet")
        return self.timeline.said

    @property
    def stands(self) -> bool:
        """Whether the last look agrees with what is said: no calmer verdict waits for its time."""
        return self.timeline.pending is None
