"""Which ranks stay behind? Told by difference between ranks only, never by an absolute number."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from hangtop.diagnosis.case import Case
from hangtop.ranks import Rank
from hangtop.records.verdict import Culprit

STEPS_BEHIND = 2
"""Asynchronous loggers print a step apart; two steps are more than that."""
QUIETER = 3.0
"""A rank that is silent this many times longer than the median of its peers stands out."""
QUIET_FLOOR_S = 10.0
"""Below this, differences of silence are noise of buffering."""
AT_MOST_PART = 0.5
"""When more ranks than this part of all stand out, none does."""


def laggards(case: Case) -> tuple[Culprit, ...]:
    """The ranks that are behind their peers, the furthest first."""
    return stand_out(case.ranks, case.now)


def stand_out(ranks: Sequence[Rank], now: float) -> tuple[Culprit, ...]:
    """Ranks behind by two steps or more, or silent three times as long as their peers."""
    culprits = [culprit for rank in ranks if (culprit := _judge(rank, ranks, now)) is not None]
    if len(culprits) > AT_MOST_PART * len(ranks):
        return ()
    return tuple(sorted(culprits, key=lambda culprit: -len(culprit.why)))


def _judge(rank: Rank, ranks: Sequence[Rank], now: float) -> Culprit | None:
    why = [reason for reason in (_behind(rank, ranks), _quiet(rank, ranks, now)) if reason]
    if not why:
        return None
    return Culprit(rank.rank, rank.pid, rank.host, "likely" if len(why) > 1 else "possible", tuple(why))


def _behind(rank: Rank, ranks: Sequence[Rank]) -> str | None:
    steps = [peer.step for peer in ranks if peer is not rank and peer.step is not None]
    if rank.step is None or not steps:
        return None
    behind = int(median(steps)) - rank.step
    return f"{behind} steps behind its peers (step {rank.step:,})" if behind >= STEPS_BEHIND else None


def _quiet(rank: Rank, ranks: Sequence[Rank], now: float) -> str | None:
    silence_s = rank.silence_s(now)
    peers = [quiet for peer in ranks if peer is not rank and (quiet := peer.silence_s(now)) is not None]
    if silence_s is None or not peers or silence_s < QUIET_FLOOR_S:
        return None
    return "silent much longer than its peers" if silence_s > QUIETER * median(peers) + QUIET_FLOOR_S else None
