"""Steps of which some take much longer than the others, again and again, and what the run does in them. Pure."""

from __future__ import annotations

from collections import Counter

from hangtop.common.text import pace
from hangtop.diagnosis.facts.step_time_evidence import LEAST_STEP_S, percent, slower
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.step_times import Peaks
from hangtop.records.verdict import Evidence

LEAST_LOST = 0.15
"""A run that gives away a smaller part of its time is not slow for that."""
IN_THEM = {"checkpoint": "slow_save", "validation": "slow_save", "weight_sync": "slow_network", "rollout": "slow_generation"}
"""Stages that come again within training, and the place that tells why they take long."""
MOSTLY = 0.6
"""A stage explains the long steps when it came in so many of them."""


def uneven_steps(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """One line at most; nothing where all steps are slower than they were: then the long ones are the newer ones."""
    peaks = snapshot.log.pace.peaks
    if peaks is None or slower(snapshot.log) or peaks.lost < LEAST_LOST or peaks.peak_s < LEAST_STEP_S:
        return ()
    during = _during(snapshot, peaks)
    often = "some steps take" if peaks.every is None else f"one step in {peaks.every} takes"
    what = "of the time" if during is None else f"of the time, in {during[1]}"
    line = f"{often} {pace(peaks.peak_s)} s, the others {pace(peaks.usual_s)} s: {percent(peaks.lost)} {what}"
    return (Evidence("log", line, page="uneven_steps" if during is None else IN_THEM[during[0]]),)


def _during(snapshot: Snapshot, peaks: Peaks) -> tuple[str, str] | None:
    """Id and title of the stage that came in most of them."""
    log = snapshot.log
    events = [event for event in log.stages if event.attempt == log.attempt and event.id in IN_THEM and event.at is not None]
    came = Counter(
        (event.id, event.title)
        for begin, end in peaks.spans
        for event in {event.id: event for event in events if begin <= (event.at or 0.0) <= end}.values()
    )
    ((stage, times),) = came.most_common(1) or ((("", ""), 0),)
    return stage if times and times >= MOSTLY * len(peaks.spans) else None
