"""Everything known of each rank, joined by rank number. Pure: no I/O, no clock."""

from __future__ import annotations

from msgspec import Struct

from hangtop.model import RunState
from hangtop.records.log import RankLog


class Rank(Struct, frozen=True, omit_defaults=True):
    """One member of the run, as all sources together know it. Unknown is `None`.

    `lag`: steps behind the rank that is furthest. `last_at`: unix time of its last log line; its own silence is `silence_s(now)`.
    `state`: process state letter. `doing`: what it does, in a few words. `why`: the facts by which it stands out, if any.
    """

    rank: int
    world: int | None = None
    local_rank: int | None = None
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
    why: str | None = None

    def silence_s(self, now: float) -> float | None:
        """Seconds since this rank's own last line; `None` when its lines carry no clock."""
        return None if self.last_at is None else max(0.0, now - self.last_at)


def join(state: RunState) -> tuple[Rank, ...]:
    """One record for each rank that any source knows, by number."""
    furthest = max((log.step for log in state.ranks.values() if log.step is not None), default=None)
    return tuple(_rank(state.ranks[number], furthest) for number in sorted(state.ranks))


def _rank(log: RankLog, furthest: int | None) -> Rank:
    return Rank(
        rank=log.rank,
        world=log.world,
        local_rank=log.local_rank,
        host=log.host,
        pid=log.pid,
        actor=log.actor,
        stage=log.stage,
        step=log.step,
        total=log.total,
        step_s=log.step_s,
        lag=None if log.step is None or furthest is None else furthest - log.step,
        last_at=log.last_at,
        lines=log.lines,
        metrics=log.metrics,
    )
