"""Where the time of a run went that prints its stages but no times of steps: the share of each stage that comes again. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict

from hangtop.common.text import clock
from hangtop.records.log import LogReading
from hangtop.records.verdict import Evidence

LEAST_ROUNDS = 3
"""Each of at least two stages has come so often: fewer rounds are the start of a run."""


def stage_shares(log: LogReading) -> dict[str, float]:
    """By title, the largest first: shares (0…1) of the time between the first and the last change of those stages that came
    again and again in this attempt; empty where stages tell no round."""
    events = [event for event in log.stages if event.attempt == log.attempt]
    came = Counter(event.id for event in events)
    again = {name for name, times in came.items() if times >= LEAST_ROUNDS}
    if len(again) < 2:
        return {}
    seconds: dict[str, float] = defaultdict(float)
    for event in _rounds(log, again):
        seconds[event[0]] += event[1]
    whole_s = sum(seconds.values())
    shares = {title: took_s / whole_s for title, took_s in seconds.items()} if whole_s > 0 else {}
    return dict(sorted(shares.items(), key=lambda share: -share[1]))


def stage_evidence(log: LogReading) -> Evidence | None:
    """`of the time since 14:02:11: rollout 62 %, training 30 %`."""
    shares = stage_shares(log)
    first = next((event.at for event in log.stages if event.attempt == log.attempt and event.title in shares), None)
    if not shares or first is None:
        return None
    told = ", ".join(f"{title} {100 * share:.0f} %" for title, share in shares.items())
    return Evidence("log", f"of the time since {clock(first)}: {told}", page="slow_steps")


def _rounds(log: LogReading, again: set[str]) -> list[tuple[str, float]]:
    """Title and seconds of each such stage that has ended; the one that is open may be a hang."""
    ended = [event for event in log.stages if event.attempt == log.attempt and event.id in again]
    return [(event.title, event.done_at - event.at) for event in ended if event.at is not None and event.done_at is not None]
