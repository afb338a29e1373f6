"""Rules over a quiet run whose members live: which rank do the others wait for, and does any work?

Localised only by difference between ranks (as STAT, ByteRobust and Minder do). A rank that works comes before every hang, for its
peers spin at 100 % GPU while it saves.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hangtop.common.grouped import grouped
from hangtop.common.text import rate
from hangtop.diagnosis.facts.dead_children import dead_workers, failed_child
from hangtop.diagnosis.facts.gpu_evidence import gpu_evidence
from hangtop.diagnosis.facts.other_side import waits_to_be_asked
from hangtop.diagnosis.members.parallel_groups import group_of, inner_group, undecided
from hangtop.diagnosis.rules.log_rules import running
from hangtop.diagnosis.rules.loop_suspects import loop_suspects
from hangtop.diagnosis.rules.other_end_rules import never_answers, roots
from hangtop.diagnosis.rules.rendezvous_rules import missing_ranks
from hangtop.diagnosis.rules.verdict_builders import (
    build_culprits,
    count,
    hung_verdict,
    names,
    plural_s,
    silence,
    slow_verdict,
    stack_evidence,
    stage_kind,
    still,
    waiting_kind,
)
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.apart import standing, stands_apart
from hangtop.diagnosis.status.by_waits import current_watch, watched
from hangtop.diagnosis.status.kernel_block import blocked_on, mount_words
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.diagnosis.status.twins import is_idle_twin
from hangtop.records.checkpoints import GIVEN
from hangtop.records.parallel_layout import place_words
from hangtop.records.verdict import Evidence, Kind, Verdict
from hangtop.records.watched_waits import WatchedProcess
from hangtop.stacks.activity import waits_within
from hangtop.stacks.loops import IO_BYTES_S, recently

GROWN_S = 30.0
"""A checkpoint that grew this lately is being written."""
OWN_PART = 0.2
"""The span over which processes are watched and that over which the folder grows are not the same: a fifth is enough."""


def alive(snapshot: Snapshot) -> Verdict | None:
    """A rank that waits for nobody works, or sleeps until a moment that is near, a checkpoint grows, or the GPUs compute: slow,
    do not kill.

    Stands before `straggler`: the peers of a rank that works wait rightly, with their GPUs at 100 %.
    """
    if not snapshot.is_quiet:
        return None
    working = [member for member in (*snapshot.members, *snapshot.beside) if member.alive]
    growing = _growing(snapshot)
    computing = [fact for fact in gpu_evidence(snapshot.state, snapshot.now) if fact.supports is False]
    surely = growing is not None or computing or any(not member.doubted for member in working)
    if not surely and (not working or snapshot.waits_overdue):  # who prints that it waits is not at work because it prints
        return None
    if snapshot.only_beats:
        return running(snapshot)
    peers = [member for member in snapshot.members if member.waits_for_peers]
    evidence = [Evidence("procs", f"{member.name}: {_life(member)}") for member in working[:2]]
    evidence += computing[:1]
    if growing is not None:
        evidence.insert(0, growing)
    if peers:
        evidence.append(stack_evidence(peers))
    disk_or_gpu = "A checkpoint is being written" if growing is not None else "The GPUs compute"
    who = f"{names(working)} {_at_work(working)}" if working else disk_or_gpu
    wanted = f" for {'it' if len(working) == 1 else 'them'}" if working else ""
    waiting = f"; {count(peers)} wait{plural_s(peers)}{wanted}" if peers else ""
    suspects = () if growing is not None or computing else loop_suspects(snapshot, working)
    advice = "Do not kill it." if surely and not suspects else "That is work, or a loop without end: time tells."
    few = tuple(member.rank for member in working if member.rank is not None) if len(working) <= len(peers) else ()
    told = slow_verdict(snapshot, f"{who}{waiting}. {advice}", None, tuple(evidence))
    return replace(told, at_work=few, culprits=suspects)


def nobody_builds(snapshot: Snapshot) -> Verdict | None:
    """Ranks wait for the lock file of an extension that nobody builds. A process that was killed while it built has left the
    file behind, and nothing ever removes it (torch/utils/file_baton.py).

    Stands before `straggler`: that rule would blame the ranks at the lock, and who left it is no longer here.
    """
    waits = [member for member in snapshot.members if member.does == "build_lock"]
    others = [member for member in snapshot.members if member.does != "build_lock"]
    if not snapshot.is_quiet or not waits or not all(member.waits_for_peers for member in others):
        return None
    evidence = (Evidence("stacks", f"{names(waits)}: {waits[0].text}; no compiler runs below them"), silence(snapshot))
    headline = f"{names(waits)} wait{plural_s(waits)} for a build that nobody here makes: a killed one left its lock file behind."
    refute = "another node builds in the same folder"
    said = hung_verdict(headline, "unknown", build_culprits(snapshot, waits), evidence, refute)
    folder = '"${TORCH_EXTENSIONS_DIR:-$HOME/.cache/torch_extensions}"'
    return replace(said, detail=f"When no compiler runs anywhere: find {folder} -name lock -delete")


def straggler(snapshot: Snapshot) -> Verdict | None:
    """Ranks wait for other ranks that neither work nor come.

    Stands before `leader_alone`: where ranks wait for a rank, that one is looked at before the actor that calls them all.
    """
    peers = [member for member in snapshot.members if member.waits_for_peers]
    odd = [member for member in snapshot.members if member.status in ("waits", "loops", "dataloader", "unknown")]
    odd = roots([member for member in odd if not _is_fed(member)] or [*stands_apart(odd, snapshot.beside)] or odd)
    if not snapshot.is_quiet or not peers or not odd or (len(odd) > len(peers) and not all(_stands(member) for member in odd)):
        return None
    looping = all(member.status == "loops" for member in odd)
    orphaned = [member for member in odd if dead_workers(snapshot, member)]
    on_disk = all(member.does == "io" for member in odd)
    kind: Kind = (
        "python_loop" if looping else "dataloader" if orphaned else "io_blocked" if on_disk else waiting_kind(snapshot, odd)
    )
    culprits = () if undecided(odd) else build_culprits(snapshot, odd)
    apart = "; ".join(f"{member.name} {member.text}{still(member)}" for member in odd[:2])
    mount = blocked_on(snapshot.procs, {member.pid for member in odd})
    disk = () if mount is None else (Evidence("disk", f"{mount.file}: {mount_words(mount)}"),)
    together = stack_evidence(peers).text if len({member.call for member in peers}) > 1 else f"{count(peers)} in {peers[0].call}"
    evidence = (
        Evidence("stacks", f"{together}, {apart}"),
        *disk,
        *_died(snapshot, orphaned),
        *never_answers(snapshot, odd),
        silence(snapshot),
    )
    refute = f"{names(odd).lower()} leaves {odd[0].activity.own.name if odd[0].activity else 'this place'}"
    return hung_verdict(_never_came(snapshot, odd, peers), kind, culprits, evidence, refute)


def _never_came(snapshot: Snapshot, odd: list[MemberStatus], peers: list[MemberStatus]) -> str:
    """Which ranks are missing in which collective, in one sentence."""
    if undecided(odd):
        group = place_words(inner_group(odd[0].place) or ())
        return f"One of {names(odd).lower()} ({group}) never came; {count(peers)} wait{plural_s(peers)}."
    own = group_of(odd[0], snapshot.members) if len(odd) == 1 else None
    call = str(peers[0].call) if own is None else f"{own.call} with its {own.name}"
    return f"{names(odd)} never entered {call}; {count(peers)} wait{plural_s(peers)} for {'it' if len(odd) == 1 else 'them'}."


def _is_fed(member: MemberStatus) -> bool:
    """Whether it waits for what another process puts into a queue or a connection. Where another member stands apart too, it
    waits for that one."""
    return (
        member.status == "waits" and member.activity is not None and member.does == "queue" and not waits_within(member.activity)
    )


def _stands(member: MemberStatus) -> bool:
    """Whether it was seen to stand still in code of its own. Where most members do, they are blamed all the same; an idle
    worker is not."""
    return member.moved is False and member.does not in (None, "idle", "remote")


def standing_still(snapshot: Snapshot) -> Verdict | None:
    """No peers are known, and everybody here stands still at one place over two looks at least. Where the others wait for what a
    process gives them, the ones that wait for nobody of the run are named.

    Stands before `stalled`: two looks at the stacks prove what silence only suggests.
    """
    members = [member for member in snapshot.members if member.status in ("waits", "loops")]
    may_print = any(member.pid not in snapshot.ticking and not _serves_only(member) for member in members)
    prints = snapshot.only_beats and (may_print or not snapshot.ticking)
    if not snapshot.is_quiet or prints or not members or len(members) < len(snapshot.members):
        return None
    if any(member.moved is not False and member.status != "loops" for member in members):
        return None
    members = [member for member in members if member.does != "idle"] or members
    members = _without_servers(snapshot, members)
    looping = members[0].status == "loops"
    kind: Kind = "python_loop" if looping else stage_kind(snapshot) or "unknown"
    alike = list(grouped(members, lambda member: f"{member.text}{still(member)}").items())
    evidence = (
        *(Evidence("stacks", f"{names(them)}: {said}") for said, them in alike[:2]),
        *never_answers(snapshot, members),
        silence(snapshot),
    )
    refute = "its stack moves, or it uses CPU"
    if orphaned := [member for member in members if failed_child(snapshot, member) is not None]:
        its = "its own" if len(orphaned) == 1 else "their own"
        headline = f"{names(orphaned)} wait{plural_s(orphaned)} for a child of {its} that has died."
        evidence = (*_died(snapshot, orphaned), *evidence)
        loads = all(child.role == "data worker" for member in orphaned for child in dead_workers(snapshot, member))
        return hung_verdict(
            headline, "dataloader" if loads else "dead_process", build_culprits(snapshot, orphaned), evidence, refute
        )
    first = roots(members)
    if apart := (stands_apart(first) or first) if len(first) < len(members) else stands_apart(members, snapshot.beside):
        return _apart(snapshot, apart, members)
    if len(members) > 1:
        headline = f"{names(members)} stand still; {members[0].name} {members[0].text}."
        return hung_verdict(headline, kind, (), evidence, refute)
    headline = f"{names(members)}: {members[0].text}, and nothing moves."
    by_peers = bool(missing_ranks(snapshot)) and standing(members[0]) in ("open", "fed")  # what it waits for may be elsewhere
    return hung_verdict(headline, kind, () if by_peers else build_culprits(snapshot, members), evidence, refute)


def _without_servers(snapshot: Snapshot, members: list[MemberStatus]) -> list[MemberStatus]:
    """Without those at whose ports nobody is connected: others do not wait for them, and they do for nobody. All, where that
    leaves none."""
    watch = current_watch(snapshot.state, snapshot.pause_s)
    at = {member.pid: watched(watch, member) for member in members} if watch is not None else {}
    known = {pid: found for pid, found in at.items() if found is not None}
    left = [member for member in members if member.pid not in known or not waits_to_be_asked(known[member.pid][1])] or members
    unasked = [member for member in left if member.pid in known and _is_unasked(known[member.pid][0])]
    return [member for member in left if member not in unasked or not is_idle_twin(snapshot.state, member, left)] or left


def _is_unasked(process: WatchedProcess) -> bool:
    """Whether its main thread waits for who connects, whatever its other threads do."""
    return bool(process.threads) and waits_to_be_asked(process.threads[0])


def _serves_only(member: MemberStatus) -> bool:
    """Whether it waits to be asked, and was not seen to wake: it prints nothing by itself."""
    return member.does == "idle" and not recently(member.process).switches_s


def _apart(snapshot: Snapshot, apart: Sequence[MemberStatus], members: Sequence[MemberStatus]) -> Verdict:
    """All stand still, and these alone wait for nobody of the run."""
    rest = [member for member in members if member not in apart]
    alike = grouped(rest, lambda member: member.text).items()
    told = (
        *((names(them), said) for said, them in alike),
        *((member.name, f"{member.text}{still(member)}") for member in apart[:2]),
    )
    evidence = (Evidence("stacks", "; ".join(f"{who}: {said}" for who, said in told[-4:])), silence(snapshot))
    looping = all(member.status == "loops" for member in apart)
    kind: Kind = "python_loop" if looping else stage_kind(snapshot) or "unknown"
    waiting = f"{count(rest)} wait{plural_s(rest)} for {'it' if len(apart) == 1 else 'them'}" if rest else "nothing else moves"
    headline = f"{names(apart)}: {apart[0].text}; {waiting}."
    return hung_verdict(headline, kind, build_culprits(snapshot, apart), evidence, f"{names(apart).lower()} goes on")


def _died(snapshot: Snapshot, parents: list[MemberStatus]) -> tuple[Evidence, ...]:
    """Whose child has died, and of what."""
    found = ((member, dead_workers(snapshot, member)[0]) for member in parents[:2])
    return tuple(Evidence("procs", f"{member.name}: its child, pid {child.pid}, is a {child.doing}") for member, child in found)


def _growing(snapshot: Snapshot) -> Evidence | None:
    saved = snapshot.state.checkpoints
    if saved is None or saved.grown_at is None or snapshot.now - saved.grown_at > GROWN_S or not saved.growth_b_s:
        return None
    if saved.found_by != GIVEN and not _may_write(snapshot, saved.growth_b_s):
        return None
    return Evidence("disk", f"a checkpoint grows by {rate(saved.growth_b_s)}: {saved.newest or saved.directory}")


def _may_write(snapshot: Snapshot, bytes_s: float) -> bool:
    """Whether the run itself may write so much, as far as its processes tell: of two that save into one folder one may hang.

    Ranks on machines that nobody watches may."""
    if missing_ranks(snapshot):
        return True
    readings = [*snapshot.state.processes.values()] or [snapshot.procs]
    alive = [recently(process) for each in readings for process in each.processes if not process.exited]
    known = [(recent.passed_b_s, recent.io_b_s or 0.0) for recent in alive if recent.passed_b_s is not None]
    # what is mapped into memory passes through no call
    return len(known) < len(alive) or sum(map(max, known)) > OWN_PART * bytes_s


def _life(member: MemberStatus) -> str:
    process = member.process
    cpu = process.subtree_cpu_percent or process.cpu_percent or 0.0
    io = process.subtree_io_b_s or 0.0
    moved = ", its stack moves" if member.moved else ""
    moves = f", {rate(io)} to or from disk" if io > IO_BYTES_S else f", {member.figures}" if member.figures else ""
    return f"{cpu:.0f} % CPU{moves}{moved}: {member.text}"


def _at_work(members: list[MemberStatus]) -> str:
    """`works in evaluate (train.py:30)`, `sleeps in retry (io.py:9) until 12:05:05`; a wait that is work all the same is said to
    be so: `is at work: waits for a file …`."""
    first, many = members[0], len(members) > 1
    verb, _, rest = first.text.partition(" ")
    if verb in ("works", "saves", "loads", "compiles") or first.until is not None:
        return f"{verb[:-1] if many else verb} {rest}"
    by_others = first.does == "idle" and first.process.subtree_size > 1 and first.side is None and not first.figures
    return f"{'are' if many else 'is'} at work: {'its child processes compute' if by_others else first.text}"
