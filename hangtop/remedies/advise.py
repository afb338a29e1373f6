"""The advice under a verdict that is not green: causes, likeliest first, and what to do about each. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from hangtop.common.text import first_line
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.advice import Advice, AdviceWhere
from hangtop.records.log import Finding, Remedy
from hangtop.records.verdict import Verdict
from hangtop.remedies.catalogue import Places, usable_places
from hangtop.remedies.place import Cause, can_fill, command, filled, remedies_of, slots_of
from hangtop.remedies.seen import of_run
from hangtop.remedies.seen_in_log import said_last
from hangtop.remedies.sightings import UNTOLD, Sighting, Sightings, explained, sightings
from hangtop.remedies.within_reach import reach_of, within_reach

MOST = 24
"""Pieces of advice: the fifth cause is hardly ever the one."""
STOPPED = frozenset({"proc.interrupt"})
"""Messages of a run that a person stopped, perhaps because it stood: its last stack tells where."""
RISKS = frozenset({"hang", "either"})
"""What the program itself says may hang: a cause of a run that stands right behind it."""
WHERE: dict[str, AdviceWhere] = {each: each for each in get_args(AdviceWhere)}
"""Of the remedies of messages, which older recordings tell in other words."""


def advice(snapshot: Snapshot, verdict: Verdict, user_dir: str | None = None) -> tuple[Advice, ...]:
    """What to do, and why; empty while the verdict is green and nothing slows the run. `user_dir`: the folder of the user's own
    places; they are left out where one of their files is wrong (`usable_places` says why)."""
    if not verdict.advised:
        return ()
    known, _ = usable_places(user_dir)
    found = within_reach(_advice(snapshot, verdict, known), reach_of(snapshot, verdict))
    return tuple({(each.cause, each.remedy): each for each in found}.values())[:MOST]


def _advice(snapshot: Snapshot, verdict: Verdict, known: Places) -> Iterator[Advice]:
    """Of a green run the hints beside its verdict speak. Else the message that the verdict quotes, what was seen, other messages,
    what the log said last and its stage. Of a crash that a message explains, messages alone."""
    if verdict.state.healthy:
        yield from _of_hints(snapshot, verdict, known)
        return
    told = [finding for finding in snapshot.findings if finding.cause and finding.severity != "hint" and finding.role != "noise"]
    crashed = verdict.word == "crashed"
    by_message = crashed and not (verdict.kind == "dead_process" and verdict.culprits)  # who is dead is named, not what was said
    fatal = next((finding for finding in told if by_message and finding.severity == "fatal"), None)
    first = next((finding for finding in snapshot.findings if finding.cause and finding.id == verdict.message), fatal)
    seen = sightings(snapshot, verdict, known) if first is None or not crashed or first.id in STOPPED else Sightings((), ())
    others = [each for each in told if each is not first and not each.survived and each.role in ("cause", "victim", "evidence")]
    for sighting in seen.ahead:
        yield from _of_place(snapshot, sighting)
    if first is not None and not first.witness:
        yield from _of_told(snapshot, verdict, first, known)
    for sighting in seen.known:
        yield from _of_place(snapshot, sighting)
    for finding in (each for each in others if not each.witness):
        yield from _of_told(snapshot, verdict, finding, known)
    if verdict.state.works:
        yield from _of_hints(snapshot, verdict, known)
    if not crashed or verdict.rule in UNTOLD:
        yield from _of_risks(snapshot)
        for sighting in (each for each in seen.by_stage if not each.place.last):
            yield from _of_place(snapshot, sighting)
    for finding in (each for each in (first, *others) if each is not None and each.witness):
        yield from _of_message(finding)
    for sighting in (each for each in seen.by_stage if each.place.last and not crashed):
        yield from _of_place(snapshot, sighting)


def _of_hints(snapshot: Snapshot, verdict: Verdict, known: Places) -> Iterator[Advice]:
    """The places, and the pages of messages, that the hints beside a verdict name, in their order; each once."""
    named = {fact.page: fact for fact in reversed(verdict.evidence) if fact.page}
    seen = of_run(snapshot, verdict)
    said = {finding.id for finding in snapshot.findings}
    told = list(reversed(named.items()))
    told.sort(key=lambda each: each[0] not in said)  # a message names the cause itself
    for page, fact in told:
        if page in known:
            yield from _of_place(snapshot, Sighting(known[page], f"{fact.source}: {fact.text}", seen))
        for finding in (finding for finding in snapshot.findings if finding.id == page):
            yield from _of_message(finding)


def _of_risks(snapshot: Snapshot) -> Iterator[Advice]:
    """What the program itself said may hang, where the run stands right behind it."""
    for finding in snapshot.findings:
        if finding.severity == "hint" and finding.hang in RISKS and said_last(snapshot, finding):
            yield from _of_message(finding)


def _of_told(snapshot: Snapshot, verdict: Verdict, finding: Finding, known: Places) -> Iterator[Advice]:
    """What the numbers in a message tell of its cause, then its own page."""
    for sighting in explained(snapshot, verdict, finding, known):
        yield from _of_place(snapshot, sighting)
    yield from _of_message(finding)


def frameworks_of(snapshot: Snapshot) -> frozenset[str]:
    """The frameworks of the run, by all names of its profiles."""
    return frozenset((snapshot.log.framework, *snapshot.log.profiles))


def _of_place(snapshot: Snapshot, sighting: Sighting) -> Iterator[Advice]:
    """The causes of one place that fit what was seen of this run."""
    frameworks, stage = frameworks_of(snapshot), None if snapshot.stage is None else snapshot.stage.id
    for cause in sighting.place.causes(sighting.seen, frameworks, stage):
        yield from _of_cause(cause, sighting, frameworks)


def _of_cause(cause: Cause, sighting: Sighting, frameworks: frozenset[str]) -> Iterator[Advice]:
    """The advice about one cause, with what was seen."""
    for do in remedies_of(cause, sighting.seen, frameworks):
        paste = command(do.set, sighting.seen)
        yield Advice(
            cause=filled(cause.text, sighting.seen),
            remedy=Remedy(filled(do.text, sighting.seen), paste=paste).line(),
            where=do.where,
            why=sighting.why,
            source=do.source or cause.source,
            tell_apart=_tell(cause, sighting),
            place=sighting.place.id,
            paste=paste,
            preset=do.preset,
        )


def _tell(cause: Cause, sighting: Sighting) -> tuple[str, ...]:
    """Its command, if all slots of that are known, with what it shows behind `#`, which a shell leaves out."""
    known = can_fill(cause.tell, sighting.seen) and slots_of(cause.shows) <= sighting.seen.keys()
    shows = f"  # {filled(cause.shows, sighting.seen)}" if cause.shows else ""
    return (command(cause.tell, sighting.seen) + shows,) if cause.tell and known else ()


def _of_message(finding: Finding) -> Iterator[Advice]:
    who = "the log" if finding.rank is None else f"rank {finding.rank}"
    for remedy in finding.remedies or (Remedy("Read its page", paste=f"hangtop explain {finding.id}"),):
        yield Advice(
            cause=finding.cause,
            remedy=remedy.line(),
            where=WHERE.get(remedy.where, "shell"),
            why=f"{who} says: {first_line(finding.text)}",
            source=next(iter(finding.cite), finding.id),
            place=finding.id,
            paste=remedy.paste,
        )
