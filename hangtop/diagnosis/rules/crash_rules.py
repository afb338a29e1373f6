"""Crashed: a message that ends runs was written in the attempt that runs now. Which one, and whose it was."""

from __future__ import annotations

from hangtop.common.text import moment, some
from hangtop.diagnosis.facts.message_evidence import found, rank_before, sentence, short
from hangtop.diagnosis.facts.silence_limits import FINISH
from hangtop.diagnosis.rules.verdict_builders import as_culprits
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.stragglers import steps_behind
from hangtop.logs.finding_order import HARMLESS, is_after
from hangtop.records.log import Finding
from hangtop.records.verdict import Confidence, Culprit, Evidence, Verdict

DOUBTS = {
    "rank": "which of its ranks said it first is not known: the times in their logs do not tell",
    "order": "another log holds a message that may have come before it: the times in them do not tell",
    "attempt": "it may be of an earlier attempt: its log does not tell when it was written",
}
"""What the times in several logs do not tell."""


def crashed(snapshot: Snapshot) -> Verdict | None:
    """The attempt that runs now wrote a message that ends runs (a signature whose `hang` says crash). The earliest cause is
    named.

    Stands before `finished`: a run may fail at its last step.
    """
    told = [
        finding
        for finding in snapshot.findings
        if finding.severity != "hint" and not finding.survived and finding.hang not in HARMLESS and finding.role != "noise"
    ]
    if snapshot.stage is not None and snapshot.stage.id == FINISH:  # what is printed afterwards does not unfinish the run
        told = [finding for finding in told if not is_after(finding, snapshot.stage)]
    if not any(finding.severity == "fatal" and "crash" in finding.hang for finding in told):
        return None
    first, *others = told
    return Verdict(
        word="crashed",
        headline=f"{rank_before(first)}{sentence(first.text)}",
        refute="the run writes further steps after this message",
        confidence=_sure(first),
        culprits=_who_failed(snapshot, first),
        evidence=(
            *_raised_in(told, first),
            _said_when(snapshot, first, sum(finding.severity == "fatal" for finding in told)),
            *([Evidence("log", DOUBTS[first.doubt], None)] if first.doubt else []),
            *(found(finding) for finding in _distinct([first, *others])[1:3]),
        ),
        next=(("Enter", "cause and fixes"),),
        detail=first.cause,
        message=first.id,
    )


def _sure(first: Finding) -> Confidence:
    """How sure it is, by the order of the messages. A victim or a consequence is named only when nothing else is there: the
    rank that prints a timeout is the one that waited (pytorch/pytorch#118369)."""
    if first.doubt in ("order", "attempt"):
        return "possible"
    return "certain" if first.role == "cause" and first.severity == "fatal" else "likely"


def _said_when(snapshot: Snapshot, first: Finding, errors: int) -> Evidence:
    """The headline is its text; this says which message it is, when it came, and whether more was written after it."""
    earliest = f", the earliest cause of {some(errors, 'error')}," if errors > 1 and first.role == "cause" else ""
    at = "" if first.at is None else f" came {moment(first.at, snapshot.now)}"
    return Evidence("log", f"{first.id}{earliest}{at}; last output {snapshot.silent_since}".replace(",;", ";"))


def _raised_in(fatal: list[Finding], first: Finding) -> tuple[Evidence, ...]:
    """The place in the code that a traceback of the same rank names: that of the run's own code if it has one."""
    for finding in fatal:
        place = finding.groups.get("own") or finding.groups.get("frame")
        if place and (finding.rank == first.rank or first.rank is None):
            return (Evidence("log", f"raised {'below' if 'own' in finding.groups else 'in'} {place}"),)
    return ()


def _who_failed(snapshot: Snapshot, finding: Finding) -> tuple[Culprit, ...]:
    """The rank whose message it is, unless it only suffered; else the one that stands out otherwise, if it is only one."""
    if finding.rank is not None and finding.role != "victim":
        sure: Confidence = "possible" if finding.doubt else "certain" if finding.role == "cause" else "likely"
        return (Culprit(finding.rank, snapshot.pid_of.get(finding.rank), None, sure, (short(finding.text),)),)
    ways = (_ended_badly, _stopped_before, _stands_apart) if finding.rank is None else (_never_complained,)
    told = next((culprits for way in ways if (culprits := way(snapshot))), ())
    return told if len(told) == 1 else ()


def _ended_badly(snapshot: Snapshot) -> tuple[Culprit, ...]:
    gone = [member for member in snapshot.members if member.status == "gone"]
    failed = [member for member in gone if member.process.exit_code != 0]
    return as_culprits(failed, "likely")


def _stopped_before(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """Stopped steps before the rest."""
    steps = {rank.rank: rank.step for rank in snapshot.ranks if rank.step is not None}
    lowest = min(steps.values(), default=None)
    return tuple(culprit for culprit in steps_behind(snapshot) if culprit.rank is not None and steps.get(culprit.rank) == lowest)


def _stands_apart(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """Has a process still, and is not where its peers wait: it raised, and something keeps it."""
    here = [member for member in snapshot.members if member.status != "gone"]
    apart = [member for member in here if not member.waits_for_peers] if any(member.waits_for_peers for member in here) else []
    return as_culprits(apart, "possible")


def _never_complained(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """All others lost their connection to a peer."""
    complained = [finding for finding in snapshot.findings if finding.role == "victim"]
    victims = {rank for finding in complained for rank in (*finding.ranks, finding.rank)}
    silent = [rank for rank in snapshot.ranks if rank.rank not in victims]
    why = ("all its peers lost a connection, it did not",)
    return tuple(Culprit(rank.rank, rank.pid, rank.host, "possible", why) for rank in silent)


def _distinct(findings: list[Finding]) -> list[Finding]:
    """One for each text: the last line of a traceback is often a message that is known by itself."""
    return list({finding.text: finding for finding in reversed(findings)}.values())[::-1]
