"""The advice under a verdict that is not green: causes, likeliest first, and what to do about each. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.common.text import first_line
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.advice import Advice, AdviceWhere
from hangtop.records.log import Finding, Remedy
from hangtop.records.verdict import Verdict
from hangtop.remedies.catalogue import Places, usable_places
from hangtop.remedies.place import Cause, can_fill, command, filled, remedies_of, slots_of
from hangtop.remedies.seen import since_words
from hangtop.remedies.sightings import Sighting, Sightings, sightings

MOST = 24
"""Pieces of advice: the fifth cause is hardly ever the one."""
WHERE: dict[str, AdviceWhere] = {"environment": "environment", "config": "config", "code": "code"}
"""Of the remedies of messages; what is not told is a command, or done to a machine."""


def advice(snapshot: Snapshot, verdict: Verdict, user_dir: str | None = None) -> tuple[Advice, ...]:
    """What to do, and why; empty while the verdict is green. `user_dir`: the folder of the user's own places; they are left out
    where one of their files is wrong (`usable_places` says why)."""
    if verdict.state.healthy:
        return ()
    known, _ = usable_places(user_dir)
    return tuple({(each.cause, each.remedy): each for each in _advice(snapshot, verdict, known)}.values())[:MOST]


def _advice(snapshot: Snapshot, verdict: Verdict, known: Places) -> Iterator[Advice]:
    """The message that the verdict quotes, what was seen, other messages, the usual causes in this stage: those of the framework
    first. Of a crash that a message explains, messages alone."""
    told = [finding for finding in snapshot.findings if finding.cause and finding.severity != "hint" and finding.role != "noise"]
    crashed = verdict.word == "crashed"
    fatal = next((finding for finding in told if crashed and finding.severity == "fatal"), None)
    first = next((finding for finding in told if finding.id == verdict.message), fatal)
    if first is not None:
        yield from _of_message(first)
    seen = sightings(snapshot, verdict, known) if first is None or not crashed else Sightings((), ())
    stage = None if snapshot.stage is None else snapshot.stage.id
    for sighting in seen.known:
        for cause, _ in _causes(sighting, frameworks_of(snapshot), stage):
            yield from _of_cause(cause, sighting, frameworks_of(snapshot))
    for finding in told:
        if finding is not first and finding.role in ("cause", "victim", "evidence"):
            yield from _of_message(finding)
    if not crashed and not seen.sure:
        yield from _of_log(snapshot, seen, stage)


def _of_log(snapshot: Snapshot, seen: Sightings, stage: str | None) -> Iterator[Advice]:
    """What the stage of the log speaks for: a framework's own causes of a place, what its profile says, the general causes."""
    frameworks = frameworks_of(snapshot)
    causes = [each for sighting in seen.by_stage for each in _causes(sighting, frameworks, stage)]
    says_what_to_do = bool(snapshot.plan is not None and snapshot.plan.fixes)
    first_ones = [each for each in causes if each[0].frameworks or not says_what_to_do]
    for cause, sighting in first_ones:
        yield from _of_cause(cause, sighting, frameworks)
    yield from _of_stage(snapshot, placed=bool(seen.known))
    for cause, sighting in causes:
        if (cause, sighting) not in first_ones:
            yield from _of_cause(cause, sighting, frameworks)


def frameworks_of(snapshot: Snapshot) -> frozenset[str]:
    """The frameworks of the run, by all names of its profiles."""
    return frozenset((snapshot.log.framework, *snapshot.log.profiles))


def _causes(sighting: Sighting, frameworks: frozenset[str], stage: str | None) -> Iterator[tuple[Cause, Sighting]]:
    """The causes of one place that fit what was seen."""
    return ((cause, sighting) for cause in sighting.place.causes(sighting.seen, frameworks, stage))


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
            where="command line" if remedy.paste.startswith("--") else WHERE.get(remedy.where, "shell"),
            why=f"{who} says: {first_line(finding.text)}",
            source=next(iter(finding.cite), finding.id),
            place=finding.id,
            paste=remedy.paste,
        )


def _of_stage(snapshot: Snapshot, *, placed: bool) -> Iterator[Advice]:
    """What the profile of the framework says of this stage: its causes, and what to do in it, the cheapest first. Of training,
    which is all that is done, it says less than the place of a member (`placed`)."""
    plan, stage = snapshot.plan, snapshot.stage
    if plan is None or stage is None or not plan.causes or (plan.steady and placed):
        return
    framework = stage.profile or snapshot.log.framework
    place = f"{framework}:{plan.id}"
    why = f"{since_words(snapshot)}{f' ({plan.hint})' if plan.hint else ''}"
    for fix in plan.fixes or (f"Read its page: hangtop explain {place}",):
        yield Advice("; or: ".join(plan.causes), fix, "shell", why, next(iter(plan.cite), f"profile {framework}"), place=place)
