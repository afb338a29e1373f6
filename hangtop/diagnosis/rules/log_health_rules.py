"""Can we see at all? A stall needs proof of silence: without a healthy log feed the verdict is blind, never stalled."""

from __future__ import annotations

from hangtop.common.text import clock
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.health import NO_ANSWER_S, SILENT_S, SourceHealth
from hangtop.records.verdict import Verdict

FIRST_STUCK_S = 30.0
"""The first look, after a glimpse at the last lines, loads what is known of messages: on a crowded machine that took 10 s."""
READABLE = frozenset({"ok", "closed", "gone"})
"""One file that cannot be read beside these blinds nobody. A deleted log is still read while its writer holds it open."""


def blind(snapshot: Snapshot) -> Verdict | None:
    """The probe or its log source has a problem, or none of the logs can be read. Silence then proves nothing.

    Stands before `by_you`: where the log cannot be read nothing that rests on it can be believed.
    """
    reason = _unwell(snapshot)
    if reason is None:
        return None
    seen = bool(snapshot.log.last_line) and any(file.status != "binary" for file in snapshot.log.files)
    return Verdict(
        word="blind",
        headline=f"Cannot see the log: {reason}",  # no full stop: it ends with a command as often as not
        refute="a new reading of the log arrives",
        confidence="certain",
        evidence=(snapshot.last_output,) if seen else (),
        detail="What is shown is old. The run may be well." if seen else "The run may be well.",
    )


def _unwell(snapshot: Snapshot) -> str | None:
    state = snapshot.state
    if state.probe is not None and state.probe.problem:
        return state.probe.problem
    if state.heard_at is not None and snapshot.now - state.heard_at > SILENT_S:
        return f"the probe gave no sign of life since {clock(state.heard_at)}"
    health = state.health.get("log", SourceHealth("log"))
    if health.problem:
        return health.problem
    is_first = health.read_at is None and state.log is not None
    if health.busy_s > (FIRST_STUCK_S if is_first else NO_ANSWER_S):
        return f"reading the log hangs since {clock(snapshot.now - health.busy_s)}: the file system may not answer"
    if state.log is None and state.procs is not None and not snapshot.spec.logs:
        gone = f"{state.procs.note}; " if state.procs.note else ""
        return f"{gone}none was given, and silence cannot be told without one: --log PATH"
    files = snapshot.log.files  # before the first reading it is too early to tell
    if state.log is None or any(file.status in READABLE for file in files):
        return None
    return next((file.problem for file in files if file.problem), "waiting for " + ", ".join(snapshot.spec.logs))


def blind_if_unread(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """What is said once nobody waits for the log any longer. Of a log that was not read a verdict that needs it is blind."""
    if not is_unread(snapshot) or verdict.word not in ("running", "stalled"):
        return verdict
    return Verdict(
        word="blind",
        headline="The log was not read in time: this machine is very busy, or the file system hangs.",
        refute="the same check, a minute later, reads it",
        confidence="possible",
    )


def is_unread(snapshot: Snapshot) -> bool:
    """Whether nothing of the log is known, or only its last lines, which tell of no stage and no limit."""
    log = snapshot.state.log
    return bool(snapshot.spec.logs) and (log is None or (log.scanned_part == 0.0 and not log.caught_up))
