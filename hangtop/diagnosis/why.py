"""Why a verdict is what it is: the rule that decided, and all facts that were weighed. For a person who doubts it. Pure.

Facts name moments, never ages, so that a page of them stands still.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from msgspec import Struct

from hangtop.common.grouped import grouped
from hangtop.common.text import clock, duration, moment, pace, some
from hangtop.diagnosis.facts.gpu_evidence import gpu_evidence
from hangtop.diagnosis.facts.machine_evidence import stall_evidence
from hangtop.diagnosis.facts.own_past import hints, machine_slow, shares
from hangtop.diagnosis.judge import RULES
from hangtop.diagnosis.rules.verdict_builders import names
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.sources_seen import sources_seen
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.process import Writer, exit_words
from hangtop.records.verdict import Evidence, Verdict

MOST_ALIKE = 12
"""Groups of members that are told; a run of thousands of ranks has few, for most of them wait alike."""
NO_RULE = "No rule holds: nothing speaks against it."


class Why(Struct, frozen=True):
    """`rule`: the name of the rule that held, as in `RULES.md`; empty where none did. `meaning`: what it looks for."""

    rule: str
    meaning: str
    facts: tuple[Evidence, ...]


def why(snapshot: Snapshot, verdict: Verdict) -> Why:
    """What decided, and what was known. `supports` is `None` for what could not be seen."""
    facts = (
        *verdict.evidence,
        *_of_log(snapshot),
        *shares(snapshot),
        *hints(snapshot),
        *stall_evidence(snapshot.state.machine),
        *machine_slow(snapshot),
        *_of_writers(snapshot),
        *_of_members(snapshot),
    )
    facts += (*gpu_evidence(snapshot.state, snapshot.now), *_not_seen(snapshot))
    return Why(verdict.rule, _meaning(verdict.rule), tuple(dict.fromkeys(facts)))


def _meaning(name: str) -> str:
    """The rule's own words, without those on its place in the order. Python started with `-OO` keeps none."""
    rule = next((rule for rule in RULES if rule.__name__ == name), None)
    if rule is None:
        return NO_RULE
    return " ".join((inspect.getdoc(rule) or "").partition("Stands ")[0].split())


def _of_log(snapshot: Snapshot) -> Iterator[Evidence]:
    log, progress = snapshot.log, snapshot.log.progress
    yield snapshot.last_output
    if snapshot.stage is not None:
        since = "" if snapshot.stage.at is None else f" since {clock(snapshot.stage.at)}"
        yield Evidence("log", f"stage {snapshot.stage.title}{since}; it may be silent for {duration(snapshot.limit.stalled_s)}")
    else:
        yield Evidence("log", f"no stage is known; the run may be silent for {duration(snapshot.limit.stalled_s)}")
    if progress.step is not None:
        of = "" if progress.total is None else f" of {progress.total:,}"
        usual = "" if log.pace.p95_s is None else f"; 95 of 100 steps took less than {pace(log.pace.p95_s)} s"
        yield Evidence("log", f"step {progress.step:,}{of}{usual}")
    if log.attempt > 1:
        yield Evidence("log", f"attempt {log.attempt} of this log; what earlier ones wrote does not count")
    if log.announced_until is not None:
        yield Evidence("log", f"announced a wait until {clock(log.announced_until)}")
    if survived := sum(finding.survived for finding in snapshot.findings):
        yield Evidence("log", f"{some(survived, 'known message')} came before further steps", False)


def _of_writers(snapshot: Snapshot) -> Iterator[Evidence]:
    procs = snapshot.procs
    for writer in procs.writers:
        yield Evidence("procs", _writer(writer, snapshot.now))
    if snapshot.state.procs is not None and not procs.writers:
        unseen = f"; {some(procs.hidden, 'process')} could not be looked into" if procs.hidden else ""
        yield Evidence("procs", f"no process holds the log open{unseen}", None if procs.hidden else True)


def _writer(writer: Writer, now: float) -> str:
    via = f" through {writer.via}" if writer.via else ""
    since = f"pid {writer.pid} {writer.name} writes the log{via}, started {moment(writer.started_at, now)}"
    if writer.alive:
        return since
    how = "exit code not known" if writer.exit_code is None else exit_words(writer.exit_code)
    return f"{since}; gone since {clock(writer.gone_at)}, {how}"


def _of_members(snapshot: Snapshot) -> Iterator[Evidence]:
    """Members that do the same together."""
    alike = list(grouped(snapshot.members, _stands).items())
    for text, members in alike[:MOST_ALIKE]:
        yield Evidence("procs", f"{names(members)}: {text}")
    if len(alike) > MOST_ALIKE:
        yield Evidence("procs", f"{some(sum(len(members) for _, members in alike[MOST_ALIKE:]), 'member')} more, each otherwise")


def _stands(member: MemberStatus) -> str:
    """`status waits: waits for a lock in load (x.py:38), process state S; its stack stands still`."""
    moved = {True: "; its stack moves", False: "; its stack stands still", None: ""}[member.moved]
    doubt = "; nothing tells work from an endless loop" if member.doubted else ""
    return f"status {member.status}: {member.text}, process state {member.process.state}{moved}{doubt}"


def _not_seen(snapshot: Snapshot) -> Iterator[Evidence]:
    """The sources that say less than they could."""
    for name, seen in sources_seen(snapshot.state, snapshot.now).items():
        if seen.problem is not None:
            yield Evidence(name, seen.problem, None)
