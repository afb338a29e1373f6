"""Which ranks stay behind? Told by difference between ranks only, never by an absolute number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hangtop.common.median import median_of_others
from hangtop.common.memo import memoized
from hangtop.diagnosis.members.rank_table import BEHIND_STEPS
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.rank import Rank
from hangtop.records.verdict import Culprit

STEPS_BEHIND = "steps behind"
QUIETER = 3.0
"""A rank that is silent this many times longer than the median of its peers stands out."""
QUIET_FLOOR_S = 10.0
"""Below this, differences of silence are noise of buffering."""
AT_MOST_PART = 0.5
"""When more ranks than this part of all stand out, none does."""


def stragglers(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The ranks that are behind their peers, the furthest first."""
    return _stand_out(snapshot.ranks, snapshot.now)


def steps_behind(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The stragglers that are steps behind, not only silent."""
    return tuple(straggler for straggler in stragglers(snapshot) if any(STEPS_BEHIND in why for why in straggler.why))


@memoized
def _stand_out(ranks: Sequence[Rank], now: float) -> tuple[Culprit, ...]:
    """Ranks behind by two steps or more, or silent three times as long as their peers."""
    steps = sorted(rank.step for rank in ranks if rank.step is not None)
    silences = sorted(quiet for rank in ranks if (quiet := rank.silence_s(now)) is not None)
    odd = [(rank, why) for rank in ranks if (why := (*_behind(rank, steps), *_quiet(rank.silence_s(now), silences)))]
    culprits = [Culprit(rank.rank, rank.pid, rank.host, "likely" if len(why) > 1 else "possible", why) for rank, why in odd]
    if len(culprits) > AT_MOST_PART * len(ranks):
        return ()
    return tuple(sorted(culprits, key=lambda culprit: -len(culprit.why)))


def _behind(rank: Rank, steps: Sequence[int]) -> Iterator[str]:
    if rank.step is not None and len(steps) > 1 and int(median_of_others(steps, rank.step)) - rank.step >= BEHIND_STEPS:
        yield f"{steps[-1] - rank.step:,} {STEPS_BEHIND} the furthest (step {rank.step:,})"  # as the column `lag` counts


def _quiet(silence_s: float | None, silences: Sequence[float]) -> Iterator[str]:
    if silence_s is None or len(silences) < 2 or silence_s < QUIET_FLOOR_S:
        return
    if silence_s > QUIETER * median_of_others(silences, silence_s) + QUIET_FLOOR_S:
        yield "silent much longer than its peers"
