"""Verdicts over the members of a quiet run, in the same words for all rules: culprits, evidence, kind and confidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hangtop.common.text import duration, numbered, rank_ranges, some
from hangtop.diagnosis.facts.collective_counts import reasons
from hangtop.diagnosis.members.parallel_groups import group_of
from hangtop.diagnosis.members.rank_gpus import of_run
from hangtop.diagnosis.members.rank_table import NOT_JOINED
from hangtop.diagnosis.snapshot import Snapshot
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
    sure: Confidence = "likely" if any(member.confidence != "possible" for member in culprits) else "possible"
    return Verdict(
        word="hung",
        headline=headline,
        refute=refute,
        kind=kind,
        confidence=sure,
        culprits=culprits,
        evidence=evidence,
        next=(("s", "stacks"),),
    )


def slow_verdict(snapshot: Snapshot, headline: str, kind: Kind | None, evidence: tuple[Evidence, ...]) -> Verdict:
    return Verdict(
        word="slow",
        headline=headline,
        refute="the work stops and nothing is written",
        kind=kind,
        confidence="likely" if len(evidence) > 1 else "possible",
        evidence=(*evidence, silence(snapshot)),
        next=(("s", "stacks"), ("f", "follow")),
    )


def build_culprit(snapshot: Snapshot, member: MemberStatus) -> Culprit:
    """Two signals that agree make it likely: its stack, and that it did not move, or stays behind in the log."""
    why = [member.text]
    if member.moved is False:
        why.append("its stack stands still")
    why += reasons(snapshot, member.rank)
    why += [NOT_JOINED for rank in snapshot.ranks if rank.rank == member.rank and rank.absent]
    why += [
        reason for other in stragglers(snapshot) if other.rank == member.rank and member.rank is not None for reason in other.why
    ]
    sure: Confidence = "likely" if len(why) > 1 else "possible"
    if group := group_of(member, snapshot.members):
        ranks = rank_ranges(other.rank for other in group.others if other.rank is not None)
        why.insert(
            1, f"{place_words(member.place)}: not in the {group.call} in which the rest of its {group.name} waits, {ranks}"
        )
    if member.rank is not None and any(rank.rank == member.rank and rank.by_order for rank in snapshot.ranks):
        why.append("numbered by the order of start: nothing names its rank")
    return Culprit(member.rank, member.pid, member.host, sure, tuple(why))


def waiting_kind(snapshot: Snapshot, members: Sequence[MemberStatus]) -> Kind:
    """What the peers wait in: a stage that says so, or the names of the functions these members are in.

    Else NCCL where the run has GPUs, else a collective on the CPU: GPUs of the machine may all be other people's.
    """
    on_gpu = any(node.reading.gpus and of_run(snapshot.state, host) != frozenset() for host, node in snapshot.state.gpus.items())
    phases = (member.activity.phase for member in members if member.activity is not None and member.activity.phase is not None)
    by_name = next((BY_PHASE[phase] for phase in phases if phase in BY_PHASE), None)
    return stage_kind(snapshot) or by_name or ("nccl" if on_gpu else "cpu_collective")


def stage_kind(snapshot: Snapshot) -> Kind | None:
    return None if snapshot.stage is None else BY_STAGE.get(snapshot.stage.id)


def stack_evidence(waiting: list[MemberStatus]) -> Evidence:
    calls = Counter(member.call or member.status for member in waiting)
    return Evidence(
        "stacks",
        ", ".join(
            f"{names([member for member in waiting if (member.call or member.status) == call])} in {call}" for call in calls
        ),
    )


def silence(snapshot: Snapshot) -> Evidence:
    return Evidence("log", f"silent since {snapshot.silent_since}, limit {duration(snapshot.quiet_s)}")


def still(member: MemberStatus) -> str:
    return ", still there at the next look" if member.moved is False else ""


def count(members: list[MemberStatus]) -> str:
    """`7 ranks`; processes where no rank is known."""
    if any(member.rank is not None for member in members):
        return some(len(members), "rank")
    return some(len(members), "process")


def plural_s(members: list[MemberStatus]) -> str:
    return "s" if len(members) == 1 else ""


def names(members: list[MemberStatus]) -> str:
    """`Rank 3`, `Ranks 0-2 4`, or processes where no rank is known."""
    ranks = [member.rank for member in members if member.rank is not None]
    if ranks:
        return rank_names(ranks) + (f" ({place_words(members[0].place)})" if len(members) == 1 and members[0].place else "")
    return f"Process {members[0].pid}" if len(members) == 1 else some(len(members), "process")


def rank_names(ranks: list[int]) -> str:
    return numbered("rank", ranks).capitalize()
