"""Verdicts over the members of a quiet run, in the same words for all rules: culprits, evidence, kind and confidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hangtop.common.grouped import grouped
from hangtop.common.text import duration, numbered, rank_ranges, some
from hangtop.diagnosis.facts.collective_counts import reasons
from hangtop.diagnosis.facts.dead_children import failed_child
from hangtop.diagnosis.members.parallel_groups import group_of
from hangtop.diagnosis.members.rank_gpus import of_run
from hangtop.diagnosis.members.rank_table import NOT_JOINED
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import current_watch
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.diagnosis.status.stragglers import stragglers
from hangtop.records.parallel_layout import place_words
from hangtop.records.verdict import Confidence, Culprit, Evidence, Kind, Verdict
from hangtop.stacks.frames import Phase

BY_PHASE: dict[Phase, Kind] = {"weights": "weight_sync", "generate": "generation"}
BY_STAGE: dict[str, Kind] = {"weight_sync": "weight_sync", "rollout": "generation"}


def hung_verdict(
    headline: str, kind: Kind, culprits: tuple[Culprit, ...], evidence: tuple[Evidence, ...], refute: str
) -> Verdict:
    """Stacks tell it, and the key shows them: likely where one of its culprits is, never certain."""
    sure: Confidence = "likely" if any(culprit.confidence != "possible" for culprit in culprits) else "possible"
    return Verdict("hung", headline, refute, kind, sure, culprits=culprits, evidence=evidence, next=(("s", "stacks"),))


def slow_verdict(snapshot: Snapshot, headline: str, kind: Kind | None, evidence: tuple[Evidence, ...]) -> Verdict:
    sure: Confidence = "likely" if len(evidence) > 1 else "possible"
    keys = (("s", "stacks"), ("f", "follow"))
    refute = "the work stops and nothing is written"
    return Verdict("slow", headline, refute, kind, sure, evidence=(*evidence, silence(snapshot)), next=keys)


def as_culprits(members: Iterable[MemberStatus], sure: Confidence, *why: str) -> tuple[Culprit, ...]:
    """These members, for what they do, and `why` before it."""
    return tuple(Culprit(member.rank, member.pid, member.host, sure, (*why, member.text)) for member in members)


def build_culprits(snapshot: Snapshot, members: Iterable[MemberStatus]) -> tuple[Culprit, ...]:
    """These members, with all that speaks against each. A process beside them for which several wait is named once, by itself."""
    told = (_culprit(snapshot, member) for member in members)
    alike = grouped(told, lambda culprit: culprit.pid if culprit.pid is not None else f"rank {culprit.rank}").values()
    return tuple(replace(each[0], rank=None) if len(each) > 1 else each[0] for each in alike)


def _culprit(snapshot: Snapshot, member: MemberStatus) -> Culprit:
    """Two signals that agree make it likely: its stack, and that it did not move, or stays behind in the log."""
    why = [member.text]
    if member.moved is False:
        why.append("its stack stands still")
    if (child := failed_child(snapshot, member)) is not None:
        why.append(f"its child, pid {child.pid}, is a {child.doing}")
    why += reasons(snapshot, member.rank)
    own = next((rank for rank in snapshot.ranks if rank.rank == member.rank), None)
    why += [NOT_JOINED] if own is not None and own.absent else []
    why += [reason for other in stragglers(snapshot) if own is not None and other.rank == own.rank for reason in other.why]
    sure: Confidence = "likely" if len(why) > 1 else "possible"
    if group := group_of(member, snapshot.members):
        ranks = rank_ranges(other.rank for other in group.others if other.rank is not None)
        rest = f"not in the {group.call} in which the rest of its {group.name} waits, {ranks}"
        why.insert(1, f"{place_words(member.place)}: {rest}")
    if own is not None and own.by_order:
        why.append("numbered by the order of start: nothing names its rank")
    return Culprit(member.rank, helper_of(snapshot, member) or member.pid, member.host, sure, tuple(why))


def helper_of(snapshot: Snapshot, member: MemberStatus) -> int | None:
    """The process of the run, or of the same job, that a member waits for in vain and that has no number but one that it
    inherited: a grader, a child that died. What is neither's is only told in words; so is one that idles and serves others who
    do not wait for it, as the store that a launcher keeps: what is wanted of it would come from one of these."""
    if (child := failed_child(snapshot, member)) is not None:
        return child.pid
    end = None if member.side is None or member.side.kind == "works" else member.side.pid
    members = {other.pid for other in snapshot.members}
    own = {
        process.pid for process in snapshot.procs.processes if process.pid not in members and process.rank in (None, member.rank)
    } | {*(snapshot.state.waits.beside if snapshot.state.waits is not None else ())}
    return end if end is not None and end in own and not _serves_others(snapshot, end) else None


def _serves_others(snapshot: Snapshot, server: int) -> bool:
    """Whether members are connected to it that do not wait for it."""
    watch = current_watch(snapshot.state)
    process = watch.processes.get(server) if watch is not None else None
    threads = process.threads if process is not None else ()
    clients = {pid for thread in threads for end in thread.ends if end.object.kind in ("tcp", "unix") for pid in end.pids}
    waits = {member.pid for member in snapshot.members if member.side is not None and member.side.pid == server}
    return bool(clients.intersection(member.pid for member in snapshot.members) - waits)


def waiting_kind(snapshot: Snapshot, members: Sequence[MemberStatus]) -> Kind:
    """What the peers wait in: a stage that says so, or the names of the functions these members are in.

    Else NCCL where the run has GPUs, else a collective on the CPU: GPUs of the machine may all be other people's.
    """
    on_gpu = any(node.reading.gpus and of_run(snapshot.state, host) != frozenset() for host, node in snapshot.state.gpus.items())
    phases = (member.activity.phase for member in members if member.activity is not None)
    by_name = next((BY_PHASE[phase] for phase in phases if phase in BY_PHASE), None)
    return stage_kind(snapshot) or by_name or ("nccl" if on_gpu else "cpu_collective")


def stage_kind(snapshot: Snapshot) -> Kind | None:
    return None if snapshot.stage is None else BY_STAGE.get(snapshot.stage.id)


def stack_evidence(waiting: Iterable[MemberStatus]) -> Evidence:
    by_call = grouped(waiting, lambda member: member.call or member.status)
    return Evidence("stacks", ", ".join(f"{names(members)} in {call}" for call, members in by_call.items()))


def silence(snapshot: Snapshot) -> Evidence:
    return Evidence("log", f"{silent_words(snapshot)}, limit {duration(snapshot.quiet_s)}")


def silent_words(snapshot: Snapshot) -> str:
    """`silent since 14:02:11`; where lines come, that they tell nothing."""
    words = snapshot.silence_words
    return words[0].lower() + words[1:] if snapshot.beats else f"silent since {snapshot.silent_since}"


def still(member: MemberStatus) -> str:
    return ", still there at the next look" if member.moved is False else ""


def count(members: Sequence[MemberStatus]) -> str:
    """`7 ranks`; processes where no rank is known."""
    if members and all(member.rank is not None for member in members):
        return some(len(members), "rank")
    return some(len(members), "process")


def plural_s(members: Sequence[MemberStatus]) -> str:
    return "s" if len(members) == 1 else ""


def names(members: Sequence[MemberStatus]) -> str:
    """`Rank 3`, `Ranks 0-2 4`, or processes where no rank is known."""
    ranks = [member.rank for member in members if member.rank is not None]
    others = len(members) - len(ranks)
    if ranks and others:
        return f"{rank_names(ranks)} and {some(others, 'process')}"
    if ranks:
        return rank_names(ranks) + (f" ({place_words(members[0].place)})" if len(members) == 1 and members[0].place else "")
    if len(members) > 1:
        return some(len(members), "process")
    return members[0].name.replace("pid", "Process", 1) if members[0].name.startswith("pid ") else members[0].name


def rank_names(ranks: list[int]) -> str:
    return numbered("rank", ranks).capitalize()
