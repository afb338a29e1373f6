"""All that panes and pages paint from: one frozen value for each tick, with the flash of its alarm. Pure."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.monitor.monitor import VerdictEntry
from hangtop.records.advice import Advice
from hangtop.records.rank import Rank
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

FLASH_S = 10.0


class Alarm(Struct, frozen=True):
    """`since`: when the trouble began; `None` without trouble. `rings`: number of alarms so far."""

    since: float | None = None
    rings: int = 0

    def next(self, verdict: Verdict | None, now: float) -> Alarm:
        """The alarm after this verdict. A stall that becomes a hang goes on as one alarm."""
        if verdict is None or not verdict.rings:
            return Alarm(None, self.rings)
        return self if self.since is not None else Alarm(now, self.rings + 1)

    def lit(self, now: float, *, calm: bool = False) -> bool:
        """Toggles every second for 10 s, then stays lit. `calm`: lit at once."""
        if self.since is None:
            return False
        age_s = now - self.since
        return calm or age_s >= FLASH_S or int(age_s) % 2 == 0


CALM = Alarm()


class View(Struct, frozen=True, dict=True):
    """`verdict`: `None` before the first log reading. `title`: names the run. `history`: earlier verdicts, oldest first.
    `advice`: why it stands, or is slow, and what to do, the likeliest first; empty while all is well."""

    state: RunState
    verdict: Verdict | None
    spec: WatchSpec
    now: float
    title: str = ""
    alarm: Alarm = CALM
    calm: bool = False
    history: tuple[VerdictEntry, ...] = ()
    advice: tuple[Advice, ...] = ()

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
