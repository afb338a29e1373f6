"""Rules over a shell around a run: it waits for something, or tries a command again that failed."""

from __future__ import annotations

from hangtop.common.text import duration, moment
from hangtop.diagnosis.facts.author_fate import at_work, present_writers
from hangtop.diagnosis.facts.last_words import complaint
from hangtop.diagnosis.rules.end_rules import broke_off, finished
from hangtop.diagnosis.rules.idle_rules import before_its_script, waits_to_be_asked
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.stack import listening
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


def never_comes_to(snapshot: Snapshot) -> Verdict | None:
    """All that is left of the run are servers whom nobody asks, and the shell that started them waits for their end, while its
    script has more to do. Whether that end ever comes nothing tells: a server may be meant to be asked from elsewhere, until a
    signal, a timer of its own or a request ends it, so that it is never called hung.

    Stands before `rests_between_parts`: that rule asks nobody who lives, this one for what is left.
    """
    script, members = next(iter(snapshot.procs.scripts), None), snapshot.members
    if script is None or not snapshot.is_quiet or snapshot.only_beats or snapshot.log.ray is not None or not members:
        return None
    at_port = listening(snapshot.state.looks)
    others = any(member.alive for member in (*snapshot.beside, *snapshot.aside))
    if others or not all(waits_to_be_asked(member) and member.pid in at_port for member in members):
        return None
    return before_its_script(snapshot, script, members[0])


def rests_between_parts(snapshot: Snapshot) -> Verdict | None:
    """Nobody of the run is at work, and all seems to be over, without a failure; but the script that started it has more to do
    that writes the log. What it waits for before that may take long; how long only a `sleep` tells, else the usual limits of a
    pause hold.

    Stands before `finished`: a script that has more to do has not ended, whatever one of its parts said.
    """
    script = next((script for script in snapshot.procs.scripts if script.outside), None)
    if script is None or snapshot.silence_s is None or snapshot.log.ray is not None or at_work(snapshot):
        return None
    if _failed(snapshot):
        return None
    awaited = f"pid {script.awaited[0]}" if script.awaited else "a program"
    evidence = (
        Evidence("procs", f"pid {script.pid}, a shell, waits for {awaited}; its script goes on with `{script.next}`"),
        snapshot.last_output,
    )
    if snapshot.now > script.until + LATE_S if script.until is not None else snapshot.silence_s > snapshot.pause_s:
        headline = f"Nothing of the run is at work; its script waits, and does not come to `{script.next}`."
        return Verdict("stalled", headline, "what it waits for ends", kind="unknown", confidence="possible", evidence=evidence)
    headline = f"A part of the run is over; its script comes to `{script.next}` next."
    if script.until is not None:
        headline = f"A part of the run is over; its script comes to `{script.next}` at {moment(script.until, snapshot.now)}."
    return Verdict(
        word="slow" if snapshot.is_quiet else "running",
        headline=headline,
        refute="the script ends before that",
        confidence="likely",
        evidence=evidence,
        quiet="explained",
    )


def _failed(snapshot: Snapshot) -> bool:
    """Whether the part that is over told of a failure, ended with a code of its own, or left steps that it had counted."""
    codes = [writer.exit_code for writer in present_writers(snapshot.procs)]
    counted = snapshot.log.progress.total is not None and broke_off(snapshot) is not None
    return counted or any(codes) or complaint(snapshot) is not None
