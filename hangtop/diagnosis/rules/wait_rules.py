"""Rules over a quiet run whose members live: which rank waits for which, and does any work?

Localised only by difference between ranks (as STAT, ByteRobust and Minder do). A rank that works comes before every hang, for its
peers spin at 100 % GPU while it saves.
"""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from hangtop.common.grouped import grouped
from hangtop.common.text import every, rate
from hangtop.diagnosis.facts import collective_counts
from hangtop.diagnosis.facts.gpu_evidence import gpu_evidence
from hangtop.diagnosis.members.parallel_groups import PAIRWISE, group_of, inner_group, odd_in_groups, stage_of, undecided
from hangtop.diagnosis.rules.dataloader_rules import dead_workers
from hangtop.diagnosis.rules.rendezvous_rules import missing_ranks
from hangtop.diagnosis.rules.verdict_builders import (
    build_culprits,
    count,
    hung_verdict,
    names,
    plural_s,
    rank_names,
    silence,
    slow_verdict,
    stack_evidence,
    stage_kind,
    still,
    waiting_kind,
)
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.gpu_wait import IN_A_COLLECTIVE
from hangtop.diagnosis.status.kernel_block import blocked_on, mount_words
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.diagnosis.status.stragglers import stragglers
from hangtop.records.checkpoints import GIVEN
from hangtop.records.parallel_layout import place_words
from hangtop.records.verdict import Culprit, Evidence, Kind, Verdict
from hangtop.stacks.activity import FOR_PEERS
from hangtop.stacks.loops import IO_BYTES_S, recently
from hangtop.stacks.process_groups import functions, waits_within

GROWN_S = 30.0
"""A checkpoint that grew this lately is being written."""
OWN_PART = 0.2
"""The span over which processes are watched and that over which the folder grows are not the same: a fifth is enough."""


def alive(snapshot: Snapshot) -> Verdict | None:
    """A rank that waits for nobody works, a checkpoint grows, or the GPUs compute: slow, do not kill.

    Stands before `straggler`: the peers of a rank that works wait rightly, with their GPUs at 100 %.
    """
    if not snapshot.is_quiet:
        return None
    working = [member for member in snapshot.members if member.alive]
    growing = _growing(snapshot)
    computing = [fact for fact in gpu_evidence(snapshot.state, snapshot.now) if fact.supports is False]
    if not working and growing is None and not computing:
        return None
    peers = [member for member in snapshot.members if member.waits_for_peers]
    evidence = [Evidence("procs", f"{member.name}: {_life(member)}") for member in working[:2]]
    evidence += computing[:1]
    if growing is not None:
        evidence.insert(0, growing)
    if peers:
        evidence.append(stack_evidence(peers))
    disk_or_gpu = "A checkpoint is being written" if growing is not None else "The GPUs compute"
    who = f"{names(working)} {_at_work(working)}" if working else disk_or_gpu
    waiting = f"; {count(peers)} wait{plural_s(peers)} for it" if peers else ""
    sure = growing is not None or computing or any(not member.doubted for member in working)
    advice = "Do not kill it." if sure else "That is work, or a loop without end: time tells."
    few = tuple(member.rank for member in working if member.rank is not None) if len(working) <= len(peers) else ()
    return replace(slow_verdict(snapshot, f"{who}{waiting}. {advice}", None, tuple(evidence)), at_work=few)


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


def desync(snapshot: Snapshot) -> Verdict | None:
    """All ranks wait for their peers, but in different collectives: they took different ways through the program.

    A rank that waits for its GPU has launched its kernels ahead, so its place in the program tells nothing.

    Stands before `all_wait`: it names the ranks that went another way, where that rule finds nobody.
    """
    waiting = [member for member in snapshot.members if member.waits_for_peers]
    if not snapshot.is_quiet or len(waiting) < 2 or len(waiting) < len(snapshot.members):
        return None
    if any(member.call == IN_A_COLLECTIVE for member in waiting):
        return None
    calls = Counter(member.call for member in waiting)
    if len(calls) < 2:
        return _by_other_ways(snapshot, waiting)
    in_groups = odd_in_groups(waiting)
    if in_groups is not None and not in_groups and any(stage_of(member.place) for member in waiting):
        return None  # every group stands together: stages wait at different places
    odd = in_groups or _other_than_most(waiting, calls)
    groups = " but ".join(
        f"{names([member for member in waiting if member.call == call]).lower()} in {call}" for call, _ in calls.most_common()
    )
    culprits = build_culprits(snapshot, odd)
    evidence = (Evidence("stacks", groups), silence(snapshot))
    return hung_verdict(f"The ranks parted: {groups}.", "desync", culprits, evidence, "the next look shows them in the same call")


def _by_other_ways(snapshot: Snapshot, waiting: list[MemberStatus]) -> Verdict | None:
    """All wait in one and the same call, to which they came through different functions of the program."""
    ways = Counter(_way(member) for member in waiting)
    if len(ways) < 2 or any(not way for way in ways) or any(member.place for member in waiting) or missing_ranks(snapshot):
        return None
    most, size = ways.most_common(1)[0]
    apart = [[member for member in waiting if _way(member) == way] for way, _ in ways.most_common()]
    groups = " but ".join(f"{names(group).lower()} through {_way(group[0])[0][0]}" for group in apart)
    culprits = build_culprits(snapshot, [each for each in waiting if _way(each) != most]) if 2 * size > len(waiting) else ()
    headline = f"The ranks parted on their way to {waiting[0].call}: {groups}."
    evidence = (Evidence("stacks", groups), silence(snapshot))
    return hung_verdict(headline, "desync", culprits, evidence, "the next look shows them on one way")


def _way(member: MemberStatus) -> tuple[tuple[str, str], ...]:
    """The user's functions that led to the collective, innermost first; none where it is not known as one by its name."""
    if member.activity is None or member.does not in FOR_PEERS:
        return ()
    frames = member.frames
    place = frames.index(member.activity.call) if member.activity.call in frames else 0
    return functions(replace(member.activity, thread=replace(member.activity.thread, frames=frames[place + 1 :])))


def _other_than_most(waiting: list[MemberStatus], calls: Counter[str | None]) -> list[MemberStatus]:
    """Members that are not where most are. When just half are elsewhere, it is those in calls between two ranks: they were
    left alone."""
    common, _ = calls.most_common(1)[0]
    odd = [member for member in waiting if member.call != common]
    if 2 * len(odd) == len(waiting):
        return [member for member in waiting if member.call in PAIRWISE]
    return odd if 2 * len(odd) < len(waiting) else []


def straggler(snapshot: Snapshot) -> Verdict | None:
    """Ranks wait for other ranks that neither work nor come.

    Stands before `actor_apart`: a stack tells the line where a rank stands, a title only the method.
    """
    peers = [member for member in snapshot.members if member.waits_for_peers]
    odd = [member for member in snapshot.members if member.status in ("waits", "loops", "dataloader", "unknown")]
    odd = [member for member in odd if not _is_fed(member)] or odd
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
    evidence = (Evidence("stacks", f"{together}, {apart}"), *disk, *_died(snapshot, orphaned), silence(snapshot))
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


def left_out(snapshot: Snapshot) -> Verdict | None:
    """By NCCL's own counts some ranks never launched the collective in which their peers wait.

    Stands before `all_wait`: NCCL's counts name a rank where all stacks show the same wait.
    """
    found = collective_counts.stragglers(snapshot) if snapshot.is_quiet else ()
    if not found:
        return None
    ranks, pids = sorted({rank for rank, _ in found}), snapshot.pid_of
    culprits = tuple(Culprit(rank, pids.get(rank), None, "likely", collective_counts.reasons(snapshot, rank)) for rank in ranks)
    evidence = (*(Evidence("nccl", f"rank {rank}: {behind.text}") for rank, behind in found[:3]), silence(snapshot))
    headline = f"{rank_names(ranks)} {found[0][1].text}; the others wait."
    return hung_verdict(headline, "nccl", culprits, evidence, "its count rises")


def all_wait(snapshot: Snapshot) -> Verdict | None:
    """All ranks here wait in one collective: for a rank elsewhere, or because a link is broken.

    Stands before `spins`: stacks name the collective, GPUs only that there is one.
    """
    members = snapshot.members
    if not snapshot.is_quiet or not members or any(member.status != "collective" for member in members):
        return None
    missing, behind = missing_ranks(snapshot), stragglers(snapshot)
    call = members[0].call if len({member.call for member in members}) == 1 else "collectives"
    everyone = every(len(members), "rank").capitalize()
    if missing:
        elsewhere = f"{rank_names(missing).lower()} run elsewhere, or not at all"
        headline = f"{everyone} here wait{plural_s(members)} in {call}; {elsewhere}."
    elif len(members) == 1:  # its own threads meet
        headline = f"{names(members)} waits in {call}, and no peer of it is known."
        behind = build_culprits(snapshot, members)
    else:
        headline = f"{everyone} wait in {call} and none stands out."
    evidence = (stack_evidence(members), silence(snapshot))
    return hung_verdict(headline, waiting_kind(snapshot, members), behind, evidence, "one of them leaves the collective")


def standing_still(snapshot: Snapshot) -> Verdict | None:
    """No peers are known, and everybody here stands still at one place over two looks at least.

    Stands before `stalled`: two looks at the stacks prove what silence only suggests.
    """
    members = [member for member in snapshot.members if member.status in ("waits", "loops")]
    if not snapshot.is_quiet or not members or len(members) < len(snapshot.members):
        return None
    if any(member.moved is not False and member.status != "loops" for member in members):
        return None
    members = [member for member in members if member.does != "idle"] or members
    looping = members[0].status == "loops"
    kind: Kind = "python_loop" if looping else stage_kind(snapshot) or "unknown"
    alike = list(grouped(members, lambda member: f"{member.text}{still(member)}").items())
    evidence = (*(Evidence("stacks", f"{names(them)}: {said}") for said, them in alike[:2]), silence(snapshot))
    refute = "its stack moves, or it uses CPU"
    if orphaned := [member for member in members if any(child.exit_code != 0 for child in dead_workers(snapshot, member))]:
        its = "its own" if len(orphaned) == 1 else "their own"
        headline = f"{names(orphaned)} wait{plural_s(orphaned)} for a child of {its} that has died."
        evidence = (*_died(snapshot, orphaned), *evidence)
        return hung_verdict(headline, "dataloader", build_culprits(snapshot, orphaned), evidence, refute)
    if len(members) > 1:
        headline = f"{names(members)} stand still; {members[0].name} {members[0].text}."
        return hung_verdict(headline, kind, (), evidence, refute)
    headline = f"{names(members)}: {members[0].text}, and nothing moves."
    return hung_verdict(headline, kind, build_culprits(snapshot, members), evidence, refute)


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
    moves = f", {rate(io)} to or from disk" if io > IO_BYTES_S else ""
    return f"{cpu:.0f} % CPU{moves}{moved}: {member.text}"


def _at_work(members: list[MemberStatus]) -> str:
    """`works in evaluate (train.py:30)`; a wait that is work all the same is said to be so: `is at work: waits for a file …`."""
    first, many = members[0], len(members) > 1
    verb, _, rest = first.text.partition(" ")
    if verb in ("works", "saves", "loads", "compiles"):
        return f"{verb[:-1] if many else verb} {rest}"
    by_others = first.does == "idle" and first.process.subtree_size > 1
    return f"{'are' if many else 'is'} at work: {'its child processes compute' if by_others else first.text}"
