"""The one place that judges a run moment by moment, keeps its verdict from flapping, and says when the verdict changed. Pure.

Whatever else should learn of a change (a line of plain output, a webhook, a guard) is a subscriber: a callable that takes a
`VerdictChanged`. Nobody compares verdicts for themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.monitor.verdict_history import Timeline, follow, meaning
from hangtop.records.verdict import Subscriber, Verdict, VerdictChanged
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState


class Monitor:
    """What is said of one run now, and what was said before. It has no clock: each look brings its own time."""

    def __init__(self, spec: WatchSpec, subscribers: Iterable[Subscriber] = ()) -> None:
        self.timeline = Timeline()
        self._spec = spec
        self._subscribers = tuple(subscribers)
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
        self.timeline = follow(Timeline() if self._draft else self.timeline, judge(snapshot), snapshot.now)
        self._draft = draft
        if not draft or self.verdict.word == "blind":
            self._announce(snapshot.now)
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
