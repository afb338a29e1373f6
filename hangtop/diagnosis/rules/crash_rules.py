"""Crashed: a message that ends runs was written in the attempt that runs now. Which one, and whose it was."""

from __future__ import annotations

import re

from hangtop.common.text import moment, some
from hangtop.diagnosis.facts.author_fate import SOON_S, ended_well, ends_alone, fate_of, goes_on, living, present_writers
from hangtop.diagnosis.facts.collective_fingerprints import MISMATCH, ran_another
from hangtop.diagnosis.facts.last_words import outlived
from hangtop.diagnosis.facts.message_evidence import found, rank_before, sentence, short
from hangtop.diagnosis.facts.missing_voice import answered_otherwise
from hangtop.diagnosis.facts.named_pids import gone_alone
from hangtop.diagnosis.facts.silence_limits import FINISH
from hangtop.diagnosis.facts.told_counts import had_fewer
from hangtop.diagnosis.facts.watchdog_counts import launched_fewer, ran_out_elsewhere
from hangtop.diagnosis.members.ray_deaths import failed_worker, with_lost_node
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
BARRIER = "jax.barrier"
TASK = re.compile(r"^\s*/job:\w{1,40}/replica:0/task:(\d{1,6})\s*$")
"""The coordination service lists those that did not come so (xla/tsl/distributed_runtime/coordination)."""
FIRST_TO_FAIL, EXCEPTION = "elastic.rank_failed", "1"
"""torchrun's line on the first rank that ended, and the exit code of an exception that nobody caught."""
BY_LAUNCHER = "proc.sigterm"


def crashed(snapshot: Snapshot) -> Verdict | None:
    """The attempt that runs now wrote a message that ends runs (a signature whose `hang` says crash), and who wrote it is gone,
    or nobody of the run is seen. The earliest cause is named. While its writer lives, the error may have been caught: other rules
    tell what the run does, and nothing is said of a crash.

    Stands before `died`: a known message tells its cause, other last words only that there was one.
    """
    told = [
        finding
        for finding in snapshot.findings
        if finding.severity != "hint" and not finding.survived and finding.hang not in HARMLESS and finding.role != "noise"
    ]
    if snapshot.stage is not None and snapshot.stage.id == FINISH:  # what dies while it leaves had done its work
        stage = snapshot.stage
        told = [finding for finding in told if finding.role == "cause" or not is_after(finding, stage)]
    told = [finding for finding in _of_the_dead(snapshot, told) if not _may_be_outlived(snapshot, finding)]
    if not any(_ends_runs(finding) for finding in told) or _nobody_was_ended(snapshot, told) or ended_well(snapshot):
        return None
    if all(outlived(snapshot, finding) for finding in told):
        return None
    first, *others = with_lost_node(snapshot.findings, told)
    return Verdict(
        word="crashed",
        headline=f"{rank_before(first)}{sentence(first.text)}",
        refute="the run writes further steps after this message",
        confidence=_sure(snapshot, first),
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


def _ends_runs(finding: Finding) -> bool:
    return finding.severity == "fatal" and "crash" in finding.hang


def _nobody_was_ended(snapshot: Snapshot, told: list[Finding]) -> bool:
    """Only watchdogs complained, and nothing tells of an end for longer than any of them takes to end its process: torch says so
    when it does, and waits a minute at most before (ProcessGroupNCCL.cpp); it does not with TORCH_NCCL_ASYNC_ERROR_HANDLING=0."""
    complaints = all(finding.role == "victim" for finding in told if _ends_runs(finding))
    only = complaints and not any(finding.hang == "crash" for finding in told)
    return only and snapshot.silence_s is not None and snapshot.silence_s > snapshot.limit.stalled_s


def _of_the_dead(snapshot: Snapshot, told: list[Finding]) -> list[Finding]:
    """Without the messages after which the run lives: their writer lives, or what died was started again. Nothing of these is a
    crash, unless the main program of their writer is over."""
    if not any(map(_ends_runs, told)) or ends_alone(snapshot.members) is not None:
        return told
    fates = [fate_of(snapshot, finding) for finding in told]
    if "lives" not in fates and "died" not in fates:
        return told
    return [
        finding
        for finding, fate in zip(told, fates, strict=True)
        if fate == "unknown" or (fate == "died" and not goes_on(snapshot, finding))
    ]


def _may_be_outlived(snapshot: Snapshot, finding: Finding) -> bool:
    """The run went on after such messages before, and is not silent yet. Where no process tells what became of it, only the
    silence tells that this one was the last."""
    seen = snapshot.procs.processes or any(writer.gone_at is not None for writer in present_writers(snapshot.procs))
    return finding.outlived and not snapshot.is_quiet and not seen


def _sure(snapshot: Snapshot, first: Finding) -> Confidence:
    """How sure it is, by the order of the messages. A victim or a consequence is named only when nothing else is there: the
    rank that prints a timeout is the one that waited (pytorch/pytorch#118369). While processes of the run live, nothing is
    certain within seconds of the message."""
    if first.doubt in ("order", "attempt"):
        return "possible"
    if living(snapshot) and (snapshot.silence_s or 0.0) < SOON_S:
        return "likely"
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
    """The ranks that the message accuses, or whose message it is, unless it only suffered; else the one that stands out, if only
    one does."""
    if finding.id == MISMATCH:  # each rank reports it
        return ran_another(snapshot)
    if culprits := _accused(snapshot, finding) or (_missing_tasks(snapshot) if finding.id == BARRIER else ()):
        return culprits
    if finding.rank is not None and finding.role != "victim":
        sure: Confidence = "possible" if finding.doubt else "certain" if finding.role == "cause" else "likely"
        return (Culprit(finding.rank, snapshot.pid_of.get(finding.rank), None, sure, (short(finding.text),)),)
    ways = (
        (_ended_badly, _accused_by_peer, _named_in_obituary, _stopped_before, gone_alone, _stands_apart)
        if finding.rank is None
        else (
            _accused_by_peer,
            _left_by_itself,
            launched_fewer,
            ran_out_elsewhere,
            had_fewer,
            answered_otherwise,
            _never_complained,
        )
    )
    told = next((culprits for way in ways if (culprits := way(snapshot))), ())
    if not told and finding.rank is None:
        told = failed_worker(snapshot.state, finding)
    return told if len(told) == 1 else ()


def _accused(snapshot: Snapshot, finding: Finding) -> tuple[Culprit, ...]:
    why, pids = (short(finding.text),), snapshot.pid_of
    ranks = [int(rank) for rank in finding.groups.get("accused", "").replace(",", " ").split()]
    return tuple(Culprit(rank, pids.get(rank), None, "likely", why) for rank in ranks)


def _missing_tasks(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The processes that JAX lists below a barrier that ran out of time, each in a line of its own."""
    tasks = {int(found[1]): line.text for line in snapshot.state.tail if (found := TASK.match(line.text)) is not None}
    pids = snapshot.pid_of
    return tuple(Culprit(rank, pids.get(rank), None, "likely", (short(text),)) for rank, text in sorted(tasks.items()))


def _accused_by_peer(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """Named in the message of a peer that missed it: others lost their connection to that peer, not to the one it missed."""
    told = (_accused(snapshot, finding) for finding in snapshot.findings if not finding.survived)
    return next(filter(None, told), ())


def _ended_badly(snapshot: Snapshot) -> tuple[Culprit, ...]:
    gone = [member for member in snapshot.members if member.status == "gone"]
    failed = [member for member in gone if member.process.exit_code != 0]
    return as_culprits(failed, "likely")


def _named_in_obituary(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The rank that a launcher, or the driver, tells to have failed first, where the message itself has no voice."""
    told = (each for each in snapshot.findings if each.severity == "fatal" and not each.survived and each.rank is not None)
    first = next((each for each in told if each.role in ("cause", "summary") and not each.doubt), None)
    if first is None:
        return ()
    pid = snapshot.pid_of.get(first.rank) or first.pid
    return (Culprit(first.rank, pid, first.groups.get("host"), "likely", (short(first.text),)),)


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


def _left_by_itself(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The rank that its launcher saw end first, with a code that no exception gives, or without a word of its own."""
    victims = _victims(snapshot)
    ended = [finding for finding in snapshot.findings if finding.id == FIRST_TO_FAIL and finding.rank is not None]
    alone = [finding for finding in ended if finding.rank not in victims and (victims or finding.groups.get("code") != EXCEPTION)]
    pids = snapshot.pid_of
    return tuple(Culprit(each.rank, pids.get(each.rank), None, "likely", (short(each.text),)) for each in alone)


def _victims(snapshot: Snapshot) -> set[int | None]:
    """The ranks that complained of a peer."""
    complained = [finding for finding in snapshot.findings if finding.role == "victim"]
    return {rank for finding in complained for rank in (*finding.ranks, *finding.about, finding.rank)}


def _never_complained(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """All others lost their connection to a peer, or were still there when the launcher ended what was left."""
    ended = {rank for finding in snapshot.findings if finding.id == BY_LAUNCHER for rank in finding.about}
    accounted = _victims(snapshot) | ended
    silent = [rank for rank in snapshot.ranks if rank.rank not in accounted]
    why = ("all its peers lost a connection, it did not",)
    return tuple(Culprit(rank.rank, rank.pid, rank.host, "possible", why) for rank in silent)


def _distinct(findings: list[Finding]) -> list[Finding]:
    """One for each text: the last line of a traceback is often a message that is known by itself."""
    return list({finding.text: finding for finding in reversed(findings)}.values())[::-1]
