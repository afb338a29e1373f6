"""The one place that judges a run moment by moment: each look goes through the same brake on verdicts that flap."""

from __future__ import annotations

from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.monitor.verdict_history import Timeline, follow
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState


class Monitor:
    """What is said of one run now, and what was said before. Knows no clock: each look brings its own time."""

    def __init__(self, spec: WatchSpec) -> None:
        self.timeline = Timeline()
        self._spec = spec
        self._draft = True

    def look(self, state: RunState, now: float, *, draft: bool = False) -> Snapshot:
        """Judges this state. `draft`: too little is known yet to hold on to what is said; the next look begins anew."""
        snapshot = take_snapshot(state, self._spec, now)
        self.judge(snapshot, draft=draft)
        return snapshot

    def judge(self, snapshot: Snapshot, *, draft: bool = False) -> Verdict:
        """The same of a case at hand."""
        self.timeline = follow(Timeline() if self._draft else self.timeline, judge(snapshot), snapshot.now)
        self._draft = draft
        return self.verdict

    @property
    def verdict(self) -> Verdict:
        """What is said now. Only after a look."""
        if self.timeline.said is None:
            raise LookupError("nothing was looked at yet")
        return self.timeline.said

    @property
    def stands(self) -> bool:
        """Whether the last look agrees with what is said: no calmer verdict waits for its time."""
        return self.timeline.pending is None
