"""The health of the sources: the age of their value, a problem in words, or nothing yet."""

from __future__ import annotations

from msgspec import Struct

LATE_S = 3.0
"""Values that are older are late: a source looks every second or two."""
NO_ANSWER_S = 10.0
"""A source, a GPU or a file system that takes longer does not answer. A busy driver may take seconds (NordicHPC/sonar#92)."""
SILENT_S = 5.0
"""A probe beats each second. One that says nothing for this long is silent, and of the run nothing can be told."""


class SourceHealth(Struct, frozen=True, omit_defaults=True):
    """One source of one probe. `busy_s`: how long its present read has taken so far, by the probe's own clock.

    `absent` is no fault: there is nothing here to read (no GPU, no Ray). `problem`: one line with what, why and the remedy.
    """

    name: str
    read_at: float | None = None
    busy_s: float = 0.0
    deadline_s: float = LATE_S
    problem: str | None = None
    absent: str | None = None

    @property
    def told(self) -> bool:
        """Whether it has read something, or has said why it cannot."""
        return bool(self.read_at or self.problem or self.absent)


class Heartbeat(Struct, frozen=True, omit_defaults=True, tag="heartbeat"):
    """A sign of life of the probe, with the health of its sources."""

    sources: tuple[SourceHealth, ...] = ()
    pid: int | None = None


class ProbeState(Struct, frozen=True, omit_defaults=True, tag="probe"):
    """The state of the probe itself, by its feed: started, dead, being restarted."""

    alive: bool
    restarts: int = 0
    problem: str | None = None


class Rewind(Struct, frozen=True, omit_defaults=True, tag="rewind"):
    """A recording was set back: forget the state, the readings begin again."""
