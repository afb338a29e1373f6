"""Rules over members that cannot go on whatever the others do: gone, stopped, blocked in the kernel."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hangtop.common.text import are, clock, rank_ranges
from hangtop.diagnosis.facts.machine_evidence import want_of_memory
from hangtop.diagnosis.facts.missing_ranks import missing_ranks_of
from hangtop.diagnosis.facts.named_pids import gone_by_name
from hangtop.diagnosis.facts.silence_limits import FINISH
from hangtop.diagnosis.facts.stack_pauses import LONGEST_S
from hangtop.diagnosis.members.ray_ownership import rank_actors
from hangtop.diagnosis.rules import log_rules
from hangtop.diagnosis.rules.verdict_builders import as_culprits, count, names, plural_s, rank_names, stack_evidence
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.apart import standing
from hangtop.diagnosis.status.kernel_block import blocked_on, in_gpu_driver, mount_words
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.nodes import pid_text, pid_there
from hangtop.records.process import Process, exit_words
from hangtop.records.verdict import Culprit, Evidence, Kind, Verdict
from hangtop.stacks.loops import recently
from hangtop.stacks.pools import awaits_pool

SOON_S = 10.0
"""A launcher needs a moment to end the ranks that are left; after this it will not."""


def dead(snapshot: Snapshot) -> Verdict | None:
    """A rank is gone or a zombie while others live and wait for it: crashed, unless it left with exit code 0.

    A rank that left with exit code 0 may be done before its peers: they get the whole limit, and may work. So may processes that
    no launcher numbers: each may be a job of its own.

    Stands before `straggler`: the others wait for a dead rank for ever, wherever they stand.
    """
    gone = [member for member in snapshot.members if member.status == "gone"]
    left = [member for member in (*snapshot.members, *snapshot.aside) if member.status != "gone"]
    done = all(member.process.exit_code == 0 for member in gone)
    patience_s = snapshot.quiet_s if done else min(SOON_S, snapshot.quiet_s)
    if not gone or not left or snapshot.silence_s is None or snapshot.silence_s < patience_s:
        return None
    if any(member.alive and (done or _goes_alone(member)) for member in left):
        return None
    why, evidence = _death(snapshot, gone)
    alone = f"{count(left)} left alone"
    headline = f"{names(gone)} ended ({why}); {alone}." if done else f"{names(gone)} died ({why}); {alone}."
    return _verdict(snapshot, gone, "dead_process", headline, evidence)


def as_death(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """The verdict of a run that stands because somebody is dead: crashed, and the dead is whom it names. Nothing goes on by
    itself any more, whoever is left and waits. One that was seen to leave with exit code 0, or said that it was at its end, did
    not die: those that miss it hang. So does a run where a part of Ray is to blame, and no process of its own."""
    if verdict.word != "hung" or verdict.kind != "dead_process" or not verdict.culprits:
        return verdict
    left = (*snapshot.procs.ended, *(process for process in snapshot.procs.processes if process.exited))
    pids = {process.pid for process in left if process.exit_code == 0}
    ranks = {rank.rank for rank in snapshot.ranks if rank.stage == FINISH}
    done = all(culprit.pid in pids or culprit.rank in ranks for culprit in verdict.culprits)
    return verdict if done else replace(verdict, word="crashed")


def _goes_alone(member: MemberStatus) -> bool:
    """Whether it certainly works, and no launcher numbers it: it may wait for nobody."""
    return member.process.role != "rank" and member.activity is not None and not member.doubted


def lost_one(snapshot: Snapshot) -> Verdict | None:
    """A rank or the launcher died and the others write on: nobody waits for it yet.

    Stands last: the run goes on, and whatever else is wrong with it counts more.
    """
    gone = [member for member in snapshot.members if member.status == "gone" and member.process.exit_code != 0]
    left = [member for member in (*snapshot.members, *snapshot.aside) if member.status != "gone"]
    launcher = _lost_launcher(snapshot, left)
    if not left or not (gone or launcher is not None):
        return None
    calm = log_rules.running(snapshot)
    if gone:
        why, evidence = _death(snapshot, gone)
        headline = f"{names(gone)} died ({why}); the others go on."
    elif launcher is not None:
        how = "its end was not seen" if launcher.exit_code is None else exit_words(launcher.exit_code)
        evidence = [Evidence("procs", f"launcher, pid {pid_there(launcher.pid)}: {how} at {clock(launcher.state_since)}")]
        headline = f"The launcher is gone ({how}); {count(left)} run on without it."
    culprits = as_culprits(gone, "certain")
    culprits += tuple(culprit for culprit in calm.culprits if culprit.rank not in {dead.rank for dead in culprits})
    return replace(calm, headline=headline, culprits=culprits, evidence=(*evidence, *calm.evidence))


def _lost_launcher(snapshot: Snapshot, left: list[MemberStatus]) -> Process | None:
    """The launcher that left these ranks alone. A parent of the launcher may leave before it, and it goes on."""
    pids = {process.pid for process in snapshot.procs.processes}
    if all(member.process.ppid in pids for member in left):
        return None
    return next((process for process in snapshot.procs.ended if process.role == "launcher"), None)


def _death(snapshot: Snapshot, gone: list[MemberStatus]) -> tuple[str, list[Evidence]]:
    """Of what they died, and what shows it."""
    starved = next((found for member in gone if (found := want_of_memory(snapshot.state, member.process)) is not None), None)
    code = gone[0].process.exit_code
    why = gone[0].text if code is None else exit_words(code)
    why = "killed for want of memory" if starved is not None and starved.supports else why
    return why, [*(_state(member) for member in gone[:2]), *([starved] if starved is not None else [])]


def vanished(snapshot: Snapshot) -> Verdict | None:
    """A rank of this machine has no process any more, by the numbers of the ranks or by the pids that the log names, while all
    others wait for their peers, or stand still. Nobody saw its exit: it is taken for dead, and the run for crashed.

    Stands before `desync`: those that are left wait for a rank that is gone, wherever they stand.
    """
    here = [member for member in (*snapshot.members, *snapshot.aside) if member.status != "gone"]
    waiting = [member for member in here if member.status == "collective"]
    if not snapshot.is_quiet or not here:
        return None
    culprits = _missing(snapshot) if waiting or all(map(_stands, here)) else ()
    left_out = all(map(_may_wait_for_one, here)) or _lost_a_task(here)
    if not culprits and left_out and not any(map(_is_held_up, here)):
        culprits = gone_by_name(snapshot)
    if not culprits:
        return None
    name = _named(culprits, {member.rank for member in here})
    left = (
        f"{count(waiting)} wait{plural_s(waiting)} in {waiting[0].call}"
        if waiting
        else f"{count(here)} stand{plural_s(here)} still"
    )
    live = rank_ranges(member.rank for member in here if member.rank is not None)
    return Verdict(
        word="hung",
        headline=f"{name} {are(len(culprits))} gone; {left}.",
        refute=f"a process of {name.lower()} is found",
        kind="dead_process",
        confidence="likely",
        culprits=culprits,
        evidence=(
            Evidence("procs", f"{name.lower()}: no process, {live or count(here)} live"),
            *(Evidence("waits", f"{member.name} {member.text}") for member in here if member.status == "loops"),
        ),
    )


def _named(gone: tuple[Culprit, ...], living: set[int | None]) -> str:
    """Ranks; processes where a number is not known, or another half of the run has the same."""
    ranks = [culprit.rank for culprit in gone if culprit.rank is not None and culprit.rank not in living]
    if len(ranks) == len(gone):
        return rank_names(ranks)
    return f"Process{'es' if len(gone) > 1 else ''} {', '.join(str(culprit.pid) for culprit in gone)}"


def _missing(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The ranks that must have run on this machine, or on one of the other nodes, by the numbers of the others there. Not those
    whose actor lives elsewhere: Ray may spread the ranks over its nodes one by one."""
    worlds = [member.process.world or 0 for member in snapshot.members]
    worlds += [rank.world or rank.rank + 1 for rank in snapshot.ranks]
    why, pids = ("has no process here any more", "its peers wait for it"), snapshot.pid_of
    elsewhere = {rank for rank, actor in rank_actors(snapshot.state).items() if actor.has_process}
    gone = missing_ranks_of(snapshot, (*snapshot.members, *snapshot.aside), max(worlds, default=None))
    return tuple(Culprit(rank, pids.get(rank), None, "likely", why) for rank in gone if rank not in elsewhere)


def _stands(member: MemberStatus) -> bool:
    return member.waits_for_peers or (member.status in ("waits", "dataloader") and member.moved is False)


def _may_wait_for_one(member: MemberStatus) -> bool:
    """Whether it stands in a wait that another process may end. One that stands for its own sake is nearer to the cause."""
    return _stands(member) and standing(member) != "own"


def _lost_a_task(here: Sequence[MemberStatus]) -> bool:
    """Whether one waits for what its pool gives, and all others stand without work: whoever had the task took it along."""
    waits = [member for member in here if any(map(awaits_pool, member.frames))]
    return len(waits) == 1 and all(_stands(member) and (member in waits or member.does == "idle") for member in here)


def _is_held_up(member: MemberStatus) -> bool:
    """Whether the kernel tells what it waits for, and that is not the one that is gone: nobody has the other end, or one that is
    stopped has it."""
    return member.side is not None and member.side.kind in ("nobody", "stopped")


def stopped(snapshot: Snapshot) -> Verdict | None:
    """A rank is stopped by a signal or held by a debugger. py-spy holds a process for a moment too, so a short trace does not
    count.

    Stands before `straggler`: a stopped rank comes to no collective, and the signal is why.
    """
    everyone = (*snapshot.members, *snapshot.beside)
    held = [member for member in everyone if member.status == "stopped" and not _held_for_a_look(member, snapshot.now)]
    if not held or snapshot.silence_s is None or snapshot.silence_s < min(SOON_S, snapshot.quiet_s):
        return None
    evidence = [_state(member) for member in held[:3]]
    return _verdict(snapshot, held, "stopped", f"{names(held)}: {held[0].text}.", evidence)


def _held_for_a_look(member: MemberStatus, now: float) -> bool:
    """Whether it is traced since a moment only."""
    since = member.process.state_since
    return member.process.state == "t" and (since is None or now - since < LONGEST_S)


def blocked(snapshot: Snapshot) -> Verdict | None:
    """A rank sits in the kernel and no byte moves. The kernel itself calls a task hung after 120 s (khungtaskd).

    Stands before `straggler`: the kernel, not the program, keeps the rank from its collective.
    """
    stuck = [member for member in snapshot.members if member.status == "blocked"]
    if not stuck or not snapshot.is_quiet:
        return None
    place = stuck[0].process.wchan or recently(stuck[0].process).wchan
    kind: Kind = "driver_hung" if in_gpu_driver(place) else "io_blocked"
    where = "in the GPU driver" if kind == "driver_hung" else "in the file system or its device"
    evidence = [_state(member, ", no byte moves") for member in stuck[:3]]
    if found := blocked_on(snapshot.procs, {member.pid for member in stuck}):
        where = f"at {found.file}" if found.answers is not False else f"at {found.file}: {found.mount} is dead"
        evidence.append(Evidence("disk", mount_words(found)))
    headline = f"{names(stuck)} {are(len(stuck))} blocked in the kernel ({place or 'unknown'}), {where}."
    return _verdict(snapshot, stuck, kind, headline, evidence)


def _state(member: MemberStatus, more: str = "") -> Evidence:
    pid = "" if member.rank is None else f", {pid_text(member.pid)}"
    return Evidence("procs", f"{member.name}{pid}: {member.text}{more}")


def _verdict(snapshot: Snapshot, odd: list[MemberStatus], kind: Kind, headline: str, evidence: list[Evidence]) -> Verdict:
    ranks = rank_ranges(member.rank for member in odd if member.rank is not None)
    refutes: dict[Kind, str] = {
        "dead_process": f"a supervisor starts {'rank ' + ranks if ranks else 'it'} again",
        "stopped": "it is continued (SIGCONT) and writes again",
        "io_blocked": "bytes move again, or its state changes",
        "driver_hung": "the driver answers again",
    }
    waiting = [member for member in snapshot.members if member.waits_for_peers]
    if waiting:
        evidence.append(stack_evidence(waiting))
    culprits = as_culprits(odd, "certain")
    return Verdict("hung", headline, refutes[kind], kind, "certain", culprits=culprits, evidence=tuple(evidence))
