"""How long the run has been starting, against what its framework's users take for normal. Output that goes on is no answer: a
start may write lines for ever."""

from __future__ import annotations

from typing import Literal

from hangtop.common.text import clock, duration, moment
from hangtop.diagnosis.facts.silence_limits import CEILINGS_FOR_S
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import Evidence

TRAINING = "train_loop"
LONGER, LEAST_S = 5.0, 600.0
"""Guides call a start of 3 minutes normal and one of 10 stuck (live guide of GKD, "when it hangs"); a big model, and a cold disk,
take several times what a stage does elsewhere."""


def start_words(snapshot: Snapshot) -> str | None:
    """What to say of a start that takes longer than normal; `None` for one that does not, for a run that trains, and where the
    profile has no such times."""
    began_at, normal_s, suspect_s = starting_since(snapshot), _scaled(snapshot, "normal"), _scaled(snapshot, "suspect")
    if began_at is None or not normal_s or snapshot.now - began_at <= normal_s:
        return None
    usual = f"it takes less than {duration(normal_s)} as a rule"
    if snapshot.now - began_at <= suspect_s:
        return f"Starting since {clock(began_at)}, slowly: {usual}"
    return f"Starting since {clock(began_at)}: {usual}, and after {duration(suspect_s)} it rather hangs than loads"


def is_suspect(snapshot: Snapshot) -> bool:
    """Whether the start has taken longer than a sound one does."""
    began_at, suspect_s = starting_since(snapshot), _scaled(snapshot, "suspect")
    return began_at is not None and 0.0 < suspect_s < snapshot.now - began_at


def _scaled(snapshot: Snapshot, which: Literal["normal", "suspect"]) -> float:
    """A time of the profile, as its ceilings for the user's stall limit."""
    log = snapshot.log
    return (log.start_normal_s if which == "normal" else log.start_suspect_s) * snapshot.spec.stall_s / CEILINGS_FOR_S


def starting_since(snapshot: Snapshot) -> float | None:
    """When the attempt that runs now began, by its log, while it has not come to training; `None` once it has."""
    log = snapshot.log
    events = [event for event in log.stages if event.attempt == log.attempt]
    if log.progress.step is not None or not events or any(event.id == TRAINING for event in events):
        return None
    if snapshot.plan is None or snapshot.stage is None:
        return None
    return next((event.at for event in events if event.at is not None), None)


def start_evidence(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """The same as a fact."""
    words = start_words(snapshot)
    return () if words is None else (Evidence("log", f"{words[0].lower()}{words[1:]}", None),)


def long_stage(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """A stage of the start that takes far longer than elsewhere, where the profile has no times of a start: what recurs follows
    the run's own pace."""
    stage, plan = snapshot.stage, snapshot.plan
    if stage is None or plan is None or plan.steady or not plan.typical_s or stage.at is None or stage.done_at is not None:
        return ()
    told_elsewhere = snapshot.log.progress.step is not None or snapshot.log.start_normal_s
    if told_elsewhere or snapshot.now - stage.at < max(LEAST_S, LONGER * plan.typical_s):
        return ()
    since = moment(stage.at, snapshot.now)
    return (Evidence("log", f"in {stage.title} since {since}; it takes about {duration(plan.typical_s)} elsewhere"),)
