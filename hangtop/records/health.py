"""How the sources themselves are: a value with an age, a problem in words, or nothing yet."""

from __future__ import annotations

from msgspec import Struct

LATE_S = 3.0
"""Values that are older are late: a source looks every second or two."""
NO_ANSWER_S = 10.0
"""A source, a GPU or a file system that takes longer does not answer. A busy driver may take seconds (NordicHPC/sonar#92)."""
SILENT_S = 5.0
"""A probe beats each second. One that says nothing for this long is silent, and of the run nothing can be told."""


class SourceHealth(Struct, frozen=True, omit_defaults=True):
    """One source of one probe. `busy_s`: how long its present look has taken so far, by the probe's own clock.

    `absent` is not a fault: there is nothing here to read (no GPU, no Ray). `problem` is one line: what, why and the mend.
    """

    name: str
    read_at: float | None = None
    busy_s: float = 0.0
    deadline_s: float = LATE_S
    problem: str | None = None
    absent: str | None = None

    @property
    def is_late(self) -> bool:
        """Whether its present look takes longer than it should."""
        return self.busy_s > self.deadline_s

    @property
    def told(self) -> bool:
        """Whether it has looked once, or has said why it cannot."""
        return bool(self.read_at or self.problem or self.absent)


class Heartbeat(Struct, frozen=True, omit_defaults=True, tag="heartbeat"):
    """The probe lives; so stand its sources."""

    sources: tuple[SourceHealth, ...] = ()
    pid: int | None = None


class ProbeState(Struct, frozen=True, omit_defaults=True, tag="probe"):
    """What the feed itself knows of its probe: started, dead, being restarted."""

    alive: bool
    restarts: int = 0
    problem: str | None = None


class Rewind(Struct, frozen=True, omit_defaults=True, tag="rewind"):
    """A recording was set back: forget everything, what follows is the past again."""
