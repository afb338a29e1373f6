"""In which places a run stands: by the rule of its verdict, by what the members in question wait in, by the stage of its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.text import first_line
from hangtop.diagnosis.facts.stacks_in_log import printed
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.log import Finding
from hangtop.records.stack import Frame
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import OtherEnd
from hangtop.remedies.catalogue import Places
from hangtop.remedies.place import Place
from hangtop.remedies.seen import Seen, evidence_of, kernel_ends, of_member, of_run, since_words
from hangtop.remedies.seen_in_log import said_last
from hangtop.remedies.seen_in_stacks import of_all_printed, of_printed
from hangtop.remedies.seen_of_exception import of_exception
from hangtop.stacks.activity import Activity

IDLE = frozenset({"idle", "loader_worker"})
MOST_MEMBERS = 4
"""Members in question that are looked at: more of them mostly stand alike."""
APART = frozenset({"waits", "loops", "dataloader", "unknown", "blocked", "stopped", "gone"})
"""Neither at work nor waiting for peers."""
EXPLAINED = frozenset({"lock", "queue", "join", "child", "sleep", "prompt", "dataloader", "build_lock"})
"""What a thread waits for says more than the name of its function."""


UNTOLD = frozenset({"broke_off", "left_with_words"})
"""Rules of ends that nobody saw: the run may have stood before, and then its log tells where."""


class Sighting(Struct, frozen=True):
    """A place in which the run stands. `why`: the evidence, as a sentence; `seen`: what fills the slots of its texts."""

    place: Place
    why: str
    seen: Seen


class Sightings(Struct, frozen=True):
    """`known`: where the run was seen to stand; `by_stage`: places for which its log alone speaks: those behind what it said
    last, then that of its stage. `ahead`: what comes before all of it."""

    known: tuple[Sighting, ...]
    by_stage: tuple[Sighting, ...]
    ahead: tuple[Sighting, ...] = ()


def sightings(snapshot: Snapshot, verdict: Verdict, places: Places) -> Sightings:
    """The places, the one that explains most first; each once."""
    run, members = of_run(snapshot, verdict), in_question(snapshot, verdict)
    seen = run | of_member(snapshot, members[0]) if members else run
    rule = f"slow {verdict.rule}" if verdict.word == "slow" else verdict.rule
    by_rule = [Sighting(place, _why(verdict), seen) for place in places.values() if rule in place.rules]
    standing: list[Sighting] = []
    if not any(sighting.place.sure for sighting in by_rule):
        standing = [sighting for member in members[:MOST_MEMBERS] for sighting in _of_member(snapshot, member, run, places)]
    if not snapshot.members:
        standing = list(_printed(snapshot, run, places))
    if not any(sighting.place.sure for sighting in by_rule):
        standing += _behind_a_copy(snapshot, run, places)
    ahead = tuple(sighting for sighting in by_rule if sighting.place.ahead)
    known = _once(sighting for sighting in (*standing, *by_rule) if not (sighting.place.last or sighting.place.ahead))
    untold = verdict.rule in UNTOLD
    if not untold and (verdict.state.ended or any(sighting.place.sure for sighting in known)):
        return Sightings(known, (), ahead)
    trains = snapshot.plan is not None and snapshot.plan.steady  # which says less than the place of a member
    by_words = _by_words(snapshot, seen, places, known)
    by_stage = () if known and trains and not untold else _by_stage(snapshot, seen, places, known)
    last = [sighting for sighting in by_rule if sighting.place.last and not known]
    return Sightings(known, (*_once((*by_words, *by_stage)), *last), ahead)


def explained(snapshot: Snapshot, verdict: Verdict, finding: Finding, places: Places) -> Iterator[Sighting]:
    """The places that tell more of this message than its own page."""
    seen = of_run(snapshot, verdict) | dict(of_exception(snapshot, finding))
    names = {finding.id, finding.groups.get("kind", finding.id)}
    for place in places.values():
        if not names.isdisjoint(place.explains):
            yield Sighting(place, f"the log says: {first_line(finding.text)}", seen)


def _by_words(snapshot: Snapshot, seen: Seen, places: Places, known: Iterable[Sighting]) -> Iterator[Sighting]:
    """The places right behind what the log said last, the last first."""
    told = {sighting.place.id for sighting in known}
    last = [finding for finding in snapshot.findings if said_last(snapshot, finding)]
    for finding in sorted(last, key=lambda finding: finding.last_offset, reverse=True):
        for place in places.values():
            if finding.id in place.said and place.id not in told:
                yield Sighting(place, f"the log says: {first_line(finding.text)}", seen)


def _printed(snapshot: Snapshot, run: Seen, places: Places) -> Iterator[Sighting]:
    """The places of stacks that somebody printed into the log, of those first that do not wait for others."""
    told = printed(snapshot)
    trains = snapshot.plan is not None and snapshot.plan.steady  # the model is loaded, so that what is read is data
    found: list[Sighting] = []
    for each in sorted(told, key=lambda each: each.waits or each.does.kind in IDLE):
        known = replace(each.does, phase=None) if trains and each.does.phase == "load" else each.does
        seen = run | of_printed(each) | ({"one_stack": "yes"} if len(told) == 1 else {}) | of_all_printed(told)
        fitting = list(_places_of(known.thread.frames, known.kind, known, places))
        for place in sorted(fitting, key=lambda place: known.phase not in place.phases):
            who = "" if each.stack.rank is None else f"rank {each.stack.rank}: "
            found.append(Sighting(place, f"{who}a stack in the log: {each.words}", seen))
    yield from sorted(found, key=lambda sighting: not sighting.place.files)  # what a frame names tells more than its kind


def _by_stage(snapshot: Snapshot, seen: Seen, places: Places, known: Iterable[Sighting]) -> Iterator[Sighting]:
    """The places of the stage of the log, but for those that are `known`."""
    told, stage = {sighting.place.id for sighting in known}, snapshot.stage.id if snapshot.stage is not None else None
    hint = f" ({snapshot.plan.hint})" if snapshot.plan is not None and snapshot.plan.hint else ""
    for place in places.values():
        if stage in place.stages and place.id not in told:
            yield Sighting(place, f"{since_words(snapshot)}{hint}", seen)


def _behind_a_copy(snapshot: Snapshot, seen: Seen, places: Places) -> list[Sighting]:
    """The place of a run of which only a copy of its log is here."""
    if snapshot.copier is None:
        return []
    return [Sighting(place, f"procs: {snapshot.copier.text}", seen) for place in places.values() if "copied" in place.at]


def _once(found: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """The first of each place."""
    first: dict[str, Sighting] = {}
    for sighting in found:
        first.setdefault(sighting.place.id, sighting)
    return tuple(first.values())


def in_question(snapshot: Snapshot, verdict: Verdict) -> Sequence[MemberStatus]:
    """The members that the verdict accuses; else those that stand apart, else all, where each waits for the others. Of a run that
    is slow those that work."""
    pids = {culprit.pid for culprit in verdict.culprits if culprit.pid is not None}
    ranks = {culprit.rank for culprit in verdict.culprits if culprit.rank is not None}
    everyone = (*snapshot.members, *snapshot.beside)
    accused = [member for member in everyone if member.pid in pids or member.rank in ranks]
    if verdict.word == "slow" and not accused:
        accused = [member for member in everyone if member.alive]
    apart = [member for member in snapshot.members if member.status in APART]
    return accused or apart or [member for member in snapshot.members if not member.alive]


def _of_member(snapshot: Snapshot, member: MemberStatus, run: Seen, places: Places) -> Iterator[Sighting]:
    """The places in which one member stands: by the kernel, by its frames, by what it does."""
    seen, why = run | of_member(snapshot, member), evidence_of(snapshot, member)
    at = at_kernel(member, kernel_ends(snapshot, member))
    by_kernel = [place for place in places.values() if at in place.at]
    loops = [place for place in places.values() if "loop" in place.at] if member.status == "loops" else []
    for place in (*by_kernel, *loops, *_places_of(member.frames, member.does, member.activity, places)):
        yield Sighting(place, why, seen)
        if place.sure:
            return


def _places_of(frames: Iterable[Frame], does: str | None, activity: Activity | None, places: Places) -> Iterator[Place]:
    """The places that a stack tells: by its frames, by what it does, by what its function is about."""
    told = tuple(frames)
    yield from (place for place in places.values() if any(map(place.holds, told)))
    yield from (place for place in places.values() if not place.files and does in place.does)
    phase = activity.phase if activity is not None else None
    if phase is not None and (phase == "weights" or does not in EXPLAINED):
        yield from (place for place in places.values() if phase in place.phases)


def at_kernel(member: MemberStatus, ends: Iterable[OtherEnd]) -> str:
    """What the kernel tells of a member's wait, in a word: it or the process at the other end is stopped, that one is dead, or
    nobody is there; a lock of a file, a pipe that nobody empties; empty for all else."""
    if member.status == "stopped":
        return "traced" if member.process.tracer_pid else "stopped"
    if member.status in ("gone", "blocked"):
        return member.status
    if member.side is not None and member.side.kind in ("stopped", "dead", "nobody"):
        return f"other side {member.side.kind}"
    kinds = {end.object.kind for end in ends}
    if "file lock" in kinds:
        return "file lock"
    writes = any(end.object.kind in ("pipe", "fifo") and end.object.writes and not end.object.reads for end in ends)
    return "full pipe" if writes else ""


def _why(verdict: Verdict) -> str:
    """The evidence of the verdict itself."""
    fact = next((fact for fact in verdict.evidence if fact.supports and fact.source != "log"), None)
    return verdict.headline if fact is None else f"{fact.source}: {fact.text}"
