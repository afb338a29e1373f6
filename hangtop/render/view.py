"""All that panes and pages paint from: one frozen value for each tick."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.monitor.monitor import VerdictEntry
from hangtop.records.rank import Rank
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.alarm import CALM, Alarm
from hangtop.state.run_state import RunState


class View(Struct, frozen=True, dict=True):
    """`verdict`: `None` before the first log reading. `title`: names the run. `history`: earlier verdicts, oldest first."""

    state: RunState
    verdict: Verdict | None
    spec: WatchSpec
    now: float
    title: str = ""
    alarm: Alarm = CALM
    calm: bool = False
    history: tuple[VerdictEntry, ...] = ()

    @cached_property
    def ranks(self) -> tuple[Rank, ...]:
        """The ranks, joined once."""
        return join_ranks(self.state)

    @property
    def reading_yet(self) -> bool:
        """Whether there is a verdict."""
        return self.state.log is not None and self.verdict is not None

    @property
    def lit(self) -> bool:
        """Whether the alarm is lit at this moment."""
        return self.alarm.lit(self.now, calm=self.calm)
