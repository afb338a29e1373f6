"""Rules over a shell around a run: it waits for something, or tries a command again that failed."""

from __future__ import annotations

from hangtop.common.text import duration, moment
from hangtop.diagnosis.facts.author_fate import at_work
from hangtop.diagnosis.rules.end_rules import finished
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import Evidence, Verdict

LATE_S = 10.0
"""A shell and its command need a moment after a sleep."""


def tries_again(snapshot: Snapshot) -> Verdict | None:
    """Nobody of the run is at work but a shell that sleeps in a loop of its program. What failed before is no crash of the run
    while the loop goes on; how long it may take nothing tells, so that the usual limits of a pause hold.

    Stands before `crashed`: the message of a command that is tried again ends nothing.
    """
    loop = next((loop for loop in snapshot.procs.loops if snapshot.now <= loop.until + LATE_S), None)
    if loop is None or snapshot.silence_s is None or finished(snapshot) is not None or _others_work(snapshot):
        return None
    explained = snapshot.silence_s <= max(snapshot.pause_s, loop.sleep_s + LATE_S)
    evidence = (
        Evidence("procs", f"pid {loop.sleeper} sleeps for {duration(loop.sleep_s)}, below the shell, pid {loop.pid}"),
        snapshot.last_output,
    )
    asks = f"`{loop.head}`" if loop.head else "its loop"
    again = f"goes on at {moment(loop.until, snapshot.now)}"
    if not explained:
        headline = f"A shell is in {asks} since {snapshot.silent_since} or longer, and nothing came of it."
        return Verdict("stalled", headline, "what it waits for comes", kind="unknown", confidence="possible", evidence=evidence)
    return Verdict(
        word="slow" if snapshot.is_quiet else "running",
        headline=f"Nothing of the run is at work; the shell around it is in {asks} and {again}.",
        refute="the loop ends, and the run does not go on",
        confidence="likely",
        evidence=evidence,
        quiet="explained",
    )


def _others_work(snapshot: Snapshot) -> bool:
    """Whether a process of the run lives that is neither a shell nor one of these sleeps."""
    sleepers = {loop.sleeper for loop in snapshot.procs.loops}
    return any(process.pid not in sleepers for process in at_work(snapshot))
