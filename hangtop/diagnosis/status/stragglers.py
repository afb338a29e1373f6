"""Which ranks stay behind? Told by difference between ranks only, never by an absolute number."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common.median import median_of_others
from hangtop.common.memo import memoized
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.rank import Rank
from hangtop.records.verdict import Culprit

STEPS_BEHIND = "steps behind"
LEAST_STEPS = 2
"""Asynchronous loggers print a step apart; two steps are more than that."""
QUIETER = 3.0
"""A rank that is silent this many times longer than the median of its peers stands out."""
QUIET_FLOOR_S = 10.0
"""Below this, differences of silence are noise of buffering."""
AT_MOST_PART = 0.5
"""When more ranks than this part of all stand out, none does."""


def stragglers(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The ranks that are behind their peers, the furthest first."""
    return stand_out(snapshot.ranks, snapshot.now)


def steps_behind(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """Those of them that are steps behind, not only silent."""
    return tuple(straggler for straggler in stragglers(snapshot) if any(STEPS_BEHIND in why for why in straggler.why))


@memoized
def stand_out(ranks: Sequence[Rank], now: float) -> tuple[Culprit, ...]:
    """Ranks behind by two steps or more, or silent three times as long as their peers."""
    steps = sorted(rank.step for rank in ranks if rank.step is not None)
    silences = sorted(quiet for rank in ranks if (quiet := rank.silence_s(now)) is not None)
    culprits = [culprit for rank in ranks if (culprit := _judge(rank, steps, silences, now)) is not None]
    if len(culprits) > AT_MOST_PART * len(ranks):
        return ()
    return tuple(sorted(culprits, key=lambda culprit: -len(culprit.why)))


def _judge(rank: Rank, steps: Sequence[int], silences: Sequence[float], now: float) -> Culprit | None:
    why = [reason for reason in (_behind(rank, steps), _quiet(rank, silences, now)) if reason]
    if not why:
        return None
    return Culprit(rank.rank, rank.pid, rank.host, "likely" if len(why) > 1 else "possible", tuple(why))


def _behind(rank: Rank, steps: Sequence[int]) -> str | None:
    if rank.step is None or len(steps) < 2:
        return None
    if int(median_of_others(steps, rank.step)) - rank.step < LEAST_STEPS:
        return None
    return f"{steps[-1] - rank.step:,} {STEPS_BEHIND} the furthest (step {rank.step:,})"  # as the column `lag` counts


def _quiet(rank: Rank, silences: Sequence[float], now: float) -> str | None:
    silence_s = rank.silence_s(now)
    if silence_s is None or len(silences) < 2 or silence_s < QUIET_FLOOR_S:
        return None
    limit_s = QUIETER * median_of_others(silences, silence_s) + QUIET_FLOOR_S
    return "silent much longer than its peers" if silence_s > limit_s else None
