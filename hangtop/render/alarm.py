"""The flash: when it starts, how it looks at a moment, when it ends. Pure."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.verdict import Verdict

FLASH_S = 10.0


class Alarm(Struct, frozen=True):
    """`since`: when the run turned to trouble; `None` while there is none. `rings`: how many alarms there have been."""

    since: float | None = None
    rings: int = 0

    def next(self, verdict: Verdict | None, now: float) -> Alarm:
        """The alarm after this verdict. A stall that becomes a hang is the same alarm."""
        if verdict is None or not verdict.state.trouble:
            return Alarm(None, self.rings)
        return self if self.since is not None else Alarm(now, self.rings + 1)

    def lit(self, now: float, *, calm: bool = False) -> bool:
        """Toggles each second for 10 s, then stays. `calm`: solid at once."""
        if self.since is None:
            return False
        age_s = now - self.since
        return calm or age_s >= FLASH_S or int(age_s) % 2 == 0


CALM = Alarm()
