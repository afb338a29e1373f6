"""A rank: one member of the run, as all sources together know it."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.parallel_layout import Place
from hangtop.records.process import Process


class Rank(Struct, frozen=True, omit_defaults=True):
    """One member of the run, as all sources together know it. Unknown is `None`.

    `lag`: steps behind the rank that is furthest. `last_at`: unix time of its last log line; its own silence is `silence_s(now)`.
    `state`: process state letter, `X` when the process is gone. `cpu_percent`: of itself; `process` holds the rest, its subtree
    included. `doing`: what it does, `shorter`: the same in fewer words. `why`: the facts by which it stands out, if any.
    `by_order`: nothing says its number but the order in which the processes started. `place`: in the run's parallel groups.
    `absent`: before its first step, without the connection to the master port that its peers hold.
    """

    rank: int
    world: int | None = None
    host: str | None = None
    pid: int | None = None
    started_at: float | None = None
    gpu: int | None = None
    actor: str | None = None
    stage: str | None = None
    step: int | None = None
    total: int | None = None
    step_s: float | None = None
    lag: int | None = None
    last_at: float | None = None
    lines: int = 0
    metrics: dict[str, float | None] = {}
    cpu_percent: float | None = None
    state: str | None = None
    wchan: str | None = None
    doing: str | None = None
    shorter: tuple[str, ...] = ()
    why: str | None = None
    process: Process | None = None
    by_order: bool = False
    absent: bool = False
    place: Place = ()

    @property
    def ended(self) -> bool:
        """Its process is gone, or a zombie; false as long as none is known."""
        return self.state is not None and self.state in "ZX"

    def silence_s(self, now: float) -> float | None:
        """Seconds since this rank's own last line; `None` when its lines carry no clock."""
        return None if self.last_at is None else max(0.0, now - self.last_at)
