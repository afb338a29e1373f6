"""Rules over ranks that all wait for their peers: they parted, one never launched, or the rank that is missing is elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from hangtop.common.grouped import grouped
from hangtop.common.text import are, every
from hangtop.diagnosis.facts import collective_counts
from hangtop.diagnosis.facts.unseen_nodes import UnseenNode, node_culprits, node_evidence, unseen_nodes
from hangtop.diagnosis.members.parallel_groups import PAIRWISE, odd_in_groups, stage_of
from hangtop.diagnosis.members.parted_pairs import all_in_pairs, left_a_message_out
from hangtop.diagnosis.rules.rendezvous_rules import missing_elsewhere, missing_ranks, rendezvous_evidence
from hangtop.diagnosis.rules.verdict_builders import (
    as_culprits,
    build_culprits,
    hung_verdict,
    names,
    plural_s,
    rank_names,
    silence,
    stack_evidence,
    waiting_kind,
)
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.gpu_wait import IN_A_COLLECTIVE
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.diagnosis.status.stragglers import stragglers
from hangtop.records.verdict import Culprit, Evidence, Verdict
from hangtop.stacks.activity import FOR_PEERS
from hangtop.stacks.process_groups import functions


def desync(snapshot: Snapshot) -> Verdict | None:
    """All ranks wait for their peers, but in different collectives: they took different ways through the program.

    A rank that waits for its GPU has launched its kernels ahead, so its place in the program tells nothing. Where all send to one
    rank or receive from one, the loops in which they stand tell the rank that left a message out.

    Stands before `all_wait`: it names the ranks that went another way, where that rule finds nobody.
    """
    waiting = [member for member in snapshot.members if member.waits_for_peers]
    if not snapshot.is_quiet or len(waiting) < 2 or len(waiting) < len(snapshot.members):
        return None
    if any(member.call == IN_A_COLLECTIVE for member in waiting):
        return None
    calls = Counter(member.call for member in waiting)
    in_pairs = all_in_pairs(waiting) and not missing_ranks(snapshot)
    if in_pairs and not odd_in_groups(waiting) and (parted := _in_pairs(snapshot, waiting)) is not None:
        return parted
    if len(calls) < 2:
        return _by_other_ways(snapshot, waiting)
    in_groups = odd_in_groups(waiting)
    if in_groups is not None and not in_groups and any(stage_of(member.place) for member in waiting):
        return None  # every group stands together: stages wait at different places
    odd = in_groups or ([] if in_pairs else _other_than_most(waiting, calls))
    groups = " but ".join(
        f"{names([member for member in waiting if member.call == call]).lower()} in {call}" for call, _ in calls.most_common()
    )
    culprits = build_culprits(snapshot, odd)
    evidence = (Evidence("stacks", groups), silence(snapshot))
    return hung_verdict(f"The ranks parted: {groups}.", "desync", culprits, evidence, "the next look shows them in the same call")


def _in_pairs(snapshot: Snapshot, waiting: list[MemberStatus]) -> Verdict | None:
    """All send to one rank or receive from one, at parts of the program that cannot meet."""
    sources = tuple(excerpt for look in snapshot.state.looks for excerpt in look.excerpts)
    odd = left_a_message_out(waiting, sources)
    if not odd:
        return None
    places = grouped(waiting, lambda member: f"{member.call}{_at(member)}")
    groups = " but ".join(f"{names(group).lower()} in {place}" for place, group in places.items())
    alone = len(odd) == 1
    why = (
        "it went on to a part of the program where no other is"
        if alone
        else "one of them left a message out, nothing tells which"
    )
    headline = f"The ranks parted: {groups}; {names(odd)[0].lower()}{names(odd)[1:]} may have left a message out."
    evidence = (Evidence("stacks", groups), silence(snapshot))
    culprits = as_culprits(odd, "possible", why)
    return hung_verdict(headline, "desync", culprits, evidence, "the next look shows them in the same part")


def _at(member: MemberStatus) -> str:
    return f" ({member.activity.where})" if member.activity is not None else ""


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
    return odd if 2 * len(odd) < len(waiting) else _on_another_way(waiting)


def _on_another_way(waiting: Sequence[MemberStatus]) -> list[MemberStatus]:
    """Of members in calls that tell no majority, as forward and backward of one step, those that left the common way of all, from
    the outermost frame on, where most went on together."""
    ways = [[(frame.function, frame.file) for frame in reversed(member.frames)] for member in waiting]
    for places in zip(*ways, strict=False):
        most, often = Counter(places).most_common(1)[0]
        if often < len(waiting):
            apart = [member for member, place in zip(waiting, places, strict=True) if place != most]
            return apart if 2 * often > len(waiting) else []
    return []


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
    """All ranks here wait in one collective: for a rank elsewhere, or because a link is broken. A rank of another machine may be
    at work, so for as long as that may take on purpose the run is called stalled, not hung.

    Stands before `spins`: stacks name the collective, GPUs only that there is one.
    """
    members = snapshot.members
    if not snapshot.is_quiet or not members or any(member.status != "collective" for member in members):
        return None
    missing, behind = missing_ranks(snapshot), stragglers(snapshot)
    call = members[0].call if len({member.call for member in members}) == 1 else "collectives"
    everyone = every(len(members), "rank").capitalize()
    if missing and (nodes := unseen_nodes(snapshot)):
        return _on_unseen_nodes(snapshot, members, missing, call, nodes)
    if missing:
        elsewhere = f"{rank_names(missing).lower()} run elsewhere, or not at all"
        headline = f"{everyone} here wait{plural_s(members)} in {call}; {elsewhere}."
        if missing_elsewhere(snapshot) and snapshot.in_time:
            return _unseen_peers(snapshot, members, missing, call)
    elif len(members) == 1:  # its own threads meet
        headline = f"{names(members)} waits in {call}, and no peer of it is known."
        behind = build_culprits(snapshot, members)
    else:
        headline = f"{everyone} wait in {call} and none stands out."
    evidence = (stack_evidence(members), silence(snapshot))
    return hung_verdict(headline, waiting_kind(snapshot, members), behind, evidence, "one of them leaves the collective")


def _on_unseen_nodes(
    snapshot: Snapshot, members: Sequence[MemberStatus], missing: list[int], call: str | None, nodes: tuple[UnseenNode, ...]
) -> Verdict:
    """Ranks are on no node that answers. One that only cannot be reached from here may be well, and its ranks at work: never more
    than possible, and hung no sooner than of a machine of which nothing is known."""
    there = rank_names(missing).lower()
    hosts = f"{'node' if len(nodes) == 1 else 'nodes'} {', '.join(node.host for node in nodes)}"
    return Verdict(
        "stalled" if snapshot.in_time else "hung",
        f"{names(members)} wait{plural_s(members)} in {call} for {there}; {hosts} cannot be seen.",
        "that node answers, and its ranks work",
        waiting_kind(snapshot, members),
        "possible",
        culprits=node_culprits(nodes, f"{there} {are(len(missing))} on no node that answers"),
        evidence=(stack_evidence(members), *node_evidence(nodes), silence(snapshot)),
        next=(("s", "stacks"),),
    )


def _unseen_peers(snapshot: Snapshot, members: Sequence[MemberStatus], missing: list[int], call: str | None) -> Verdict:
    everyone, there = every(len(members), "rank").capitalize(), rank_names(missing).lower()
    waiting = f"{everyone} here wait{plural_s(members)} in {call} for {there} on other machines"
    return Verdict(
        "stalled",
        f"{waiting}. Look there: nothing here tells what they do.",
        "one of them leaves the collective",
        waiting_kind(snapshot, members),
        "possible",
        culprits=stragglers(snapshot),
        evidence=(stack_evidence(members), *rendezvous_evidence(snapshot), silence(snapshot)),
        next=(("s", "stacks"),),
    )
