"""The flash of an alarm: when it starts, and whether it is lit at a moment. Pure."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.verdict import Verdict

FLASH_S = 10.0


class Alarm(Struct, frozen=True):
    """`since`: when the trouble began; `None` without trouble. `rings`: number of alarms so far."""

    since: float | None = None
    rings: int = 0

    def next(self, verdict: Verdict | None, now: float) -> Alarm:
        """The alarm after this verdict. A stall that becomes a hang goes on as one alarm."""
        if verdict is None or not verdict.state.trouble:
            return Alarm(None, self.rings)
        return self if self.since is not None else Alarm(now, self.rings + 1)

    def lit(self, now: float, *, calm: bool = False) -> bool:
        """Toggles every second for 10 s, then stays lit. `calm`: lit at once."""
        if self.since is None:
            return False
        age_s = now - self.since
        return calm or age_s >= FLASH_S or int(age_s) % 2 == 0


CALM = Alarm()
