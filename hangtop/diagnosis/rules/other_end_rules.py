"""Rules over members that wait for a process at the other end of a connection, a pipe or a lock: one that cannot answer, and
members that wait for each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from hangtop.common.text import clock
from hangtop.diagnosis.facts.author_fate import at_work
from hangtop.diagnosis.facts.other_side import UNSURE, named, unanswered
from hangtop.diagnosis.facts.turns import who_owes
from hangtop.diagnosis.facts.wait_graph import DeadLock, dead_locks, wait_graph
from hangtop.diagnosis.facts.wait_moves import Watch, look_of
from hangtop.diagnosis.members.rank_numbering import NO_MEMBERS
from hangtop.diagnosis.rules.rendezvous_rules import missing_ranks
from hangtop.diagnosis.rules.verdict_builders import (
    as_culprits,
    build_culprits,
    count,
    hung_verdict,
    names,
    plural_s,
    silence,
    stack_evidence,
    stage_kind,
    waiting_kind,
)
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import current_watch, watched
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.verdict import Evidence, Kind, Verdict
from hangtop.stacks.process_groups import functions

OWES = "it took the last message of the two, and sent none"
LAST = "others wait for it, and it for a process that only waits for the end of its child"
ALONE = "a process that all others wait for waits for it alone"
ALL_SEND = "it sends, as all in the circle do, and none of them takes"
LOCKED = "none of its threads can go on"
ENDS = ("child", "process")
"""Objects at which a process waits for the end of another."""
ODD = ("waits", "loops", "dataloader", "unknown")
"""Members that neither work nor wait for their peers."""


def dead_lock(snapshot: Snapshot) -> Verdict | None:
    """Members wait for each other, directly or through other processes, and nothing else could end any of these waits. Who waits
    in a collective, or for itself, is left to other rules. Of two whose messages were answered one by one, the one is named that
    owes the next; of a chain that a parent closes by joining its children, the one that waits for that parent. In a circle of all
    nobody stands out, unless all send and nobody takes: then each is as much to blame.

    Stands before `held_up`: in a circle nobody is at the end.
    """
    watch = current_watch(snapshot.state, snapshot.pause_s)
    if not snapshot.is_quiet or watch is None:
        return None
    members = {member.pid: member for member in snapshot.members if member.status in ("waits", "unknown")}
    for lock in dead_locks(wait_graph(look_of(watch))):
        inside = [members[pid] for pid in lock.pids if pid in members]
        outside = [pid for pid in lock.pids if pid not in members and any(member.pid == pid for member in snapshot.members)]
        stands = all(watch.processes[pid].stood for pid in lock.pids if pid in watch.processes)
        if len(lock.pids) > 1 and inside and not outside and not lock.partly_seen and stands:
            return _locked(snapshot, watch, lock, inside)
    return None


def _locked(snapshot: Snapshot, watch: Watch, lock: DeadLock, inside: list[MemberStatus]) -> Verdict:
    edges = [edge for edge in lock.edges if edge.waiter != edge.holder]  # threads of one wait for each other, too
    ways = [f"{_name(snapshot, watch, edge.waiter)} waits for {_name(snapshot, watch, edge.holder)}" for edge in edges]
    said = " and ".join(dict.fromkeys(ways)) if len(lock.pids) < 4 else f"{names(inside)} wait for each other in a circle"
    evidence = (
        *(Evidence("waits", f"{said} at a {edge.object.kind}") for said, edge in zip(ways[:3], edges, strict=False)),
        silence(snapshot),
    )
    living = [member for member in snapshot.members if member.status != "gone"]
    everyone = len(inside) == len(living) > 2  # a message that was lost stops a whole ring, and none of it stands out
    owes = [member for member in inside if member.pid == _who_owes(watch, lock)]
    last = [] if owes else _last_of_chain(lock, inside)
    alone = [] if owes or last else _alone_awaited(lock, inside)
    why = OWES if owes else LAST if last else ALONE if alone else "in a circle of waits"
    culprits = () if everyone and not (last or alone) else as_culprits(owes or last or alone or inside, "likely", why)
    if not culprits and all(edge.object.writes and not edge.object.reads for edge in edges):
        culprits = as_culprits(inside, "possible", ALL_SEND)
    peers = [member for member in snapshot.members if member.waits_for_peers]
    waiting = f"; {count(peers)} wait{plural_s(peers)} for them" if peers else ""
    evidence = (*evidence[:-1], *([stack_evidence(peers)] if peers else []), evidence[-1])
    turn = f"; it is the turn of {owes[0].name}" if owes else f"; at its end stands {last[0].name}" if len(last) == 1 else ""
    headline = f"Dead-lock: {said}; none of them can go on{turn}{waiting}."
    return hung_verdict(headline, _kind(snapshot, inside, peers), culprits, evidence, "one of them leaves its wait")


def _last_of_chain(lock: DeadLock, inside: Sequence[MemberStatus]) -> list[MemberStatus]:
    """Those that wait for a process which waits for the end of its child, where others wait for them in turn: that wait only
    closes the circle, and gives nobody anything. None where all wait for it, as in a fork all hold all ends."""
    members = {member.pid for member in inside}
    joins = {edge.waiter for edge in lock.edges if edge.object.kind in ENDS} - members
    ends = {edge.waiter for edge in lock.edges if edge.holder in joins}
    found = [member for member in inside if member.pid in ends]
    return found if len(found) < len(inside) else []


def _alone_awaited(lock: DeadLock, inside: Sequence[MemberStatus]) -> list[MemberStatus]:
    """Those for which a process beside the members waits, and not only for their end, and nobody else could end that wait; none
    where that is all of them. What members inherited from the process that forked them off has many ends: any would do."""
    members = {member.pid for member in inside}
    given = (edge for edge in lock.edges if edge.waiter not in members and edge.object.kind not in ENDS)
    sure = {edge.holder for edge in given if edge.choices == 1}
    found = [member for member in inside if member.pid in sure]
    return found if len(found) < len(inside) else []


def _who_owes(watch: Watch, lock: DeadLock) -> int | None:
    """Of two that wait for each other, told by their connection."""
    pair = [watch.processes[pid] for pid in lock.pids if pid in watch.processes]
    return who_owes(*pair) if len(pair) == len(lock.pids) == 2 else None


def _kind(snapshot: Snapshot, odd: Sequence[MemberStatus], peers: Sequence[MemberStatus]) -> Kind:
    return waiting_kind(snapshot, odd) if peers else stage_kind(snapshot) or "unknown"


def _name(snapshot: Snapshot, watch: Watch, pid: int) -> str:
    member = next((member for member in snapshot.members if member.pid == pid and member.rank is not None), None)
    return member.name if member is not None else named(watch.processes[pid]) if pid in watch.processes else f"pid {pid}"


def out_of_sight(snapshot: Snapshot) -> Verdict | None:
    """All that stand apart wait for an answer of another machine, or of a server that took the question and wakes by its own
    clock, and for no longer than a run may rest on purpose: a judge, a store or a hub may be at work on it, and nothing tells.

    Stands before `gives_anew`: of what another machine does a clock here tells nothing.
    """
    odd = roots([member for member in snapshot.members if member.status in ODD])
    if not snapshot.is_quiet or not odd or any(member.side is None or member.side.kind not in UNSURE for member in odd):
        return None
    peers = [member for member in snapshot.members if member.waits_for_peers]
    return may_be_answered(snapshot, odd, peers, _kind(snapshot, odd, peers))


def may_be_answered(snapshot: Snapshot, odd: Sequence[MemberStatus], peers: Sequence[MemberStatus], kind: Kind) -> Verdict | None:
    """What is said of members that wait for another machine, and of their peers; `None` once that takes too long."""
    if not snapshot.in_time:
        return None
    evidence = [Evidence("waits", f"{member.name} {member.text}") for member in odd[:2]]
    evidence += [*never_answers(snapshot, odd), *([stack_evidence(peers)] if peers else []), silence(snapshot)]
    return Verdict(
        "stalled",
        f"{_wait_of(odd)}{_waiting(odd, peers)}. Whether it works on that cannot be seen from here.",
        "the answer comes",
        kind,
        "possible",
        culprits=as_culprits(odd, "possible"),
        evidence=tuple(evidence),
        next=(("s", "stacks"),),
    )


def _wait_of(odd: Sequence[MemberStatus]) -> str:
    side = odd[0].side
    waits = "may wait" if side is not None and side.doubted else f"wait{plural_s(odd)}"
    return f"{names(odd)} {waits} for {side.text if side is not None else 'nobody'}"


def _waiting(odd: Sequence[MemberStatus], peers: Sequence[MemberStatus]) -> str:
    """Who waits for these in turn, as the rest of a sentence."""
    return f"; {count(peers)} wait{plural_s(peers)} for {'it' if len(odd) == 1 else 'them'}" if peers else ""


def gathering(snapshot: Snapshot) -> Verdict | None:
    """Before the first step all that stand apart wait for a process that lets in one after another and has answered none of them:
    somebody else is to come, of another machine or not started yet.

    Stands before `held_up`: that rule would blame the one that counts who is there.
    """
    odd = roots([member for member in snapshot.members if member.status in ODD])
    if not snapshot.is_quiet or not odd or snapshot.log.progress.step is not None:
        return None
    if not all(member.side is not None and member.side.gathers for member in odd) or _some_never_came(snapshot, odd):
        return None
    peers = [member for member in snapshot.members if member.waits_for_peers]
    evidence = [Evidence("waits", f"{member.name} {member.text}") for member in odd[:2]]
    evidence += [*never_answers(snapshot, odd), *([stack_evidence(peers)] if peers else []), silence(snapshot)]
    return Verdict(
        "waiting",
        f"{_wait_of(odd)}{_waiting(odd, peers)}.",
        "one more connects, and the run begins",
        "rendezvous",
        "likely",
        evidence=tuple(evidence),
        next=(("s", "stacks"),),
    )


def _some_never_came(snapshot: Snapshot, odd: Sequence[MemberStatus]) -> bool:
    """Whether a process of the run, here, is neither there yet nor the one that counts: it may be the one that is missing."""
    known = {member.pid for member in snapshot.members} | {member.side.pid for member in odd if member.side is not None}
    return any(process.pid not in known and process.name not in NO_MEMBERS for process in at_work(snapshot))


def held_up(snapshot: Snapshot) -> Verdict | None:
    """All that stand apart wait for a process outside of the run that is stopped or does nothing, or for nobody at all.

    Stands before `straggler`: that rule says who is missing, this one also what it waits for.
    """
    peers = [member for member in snapshot.members if member.waits_for_peers]
    odd = roots([member for member in snapshot.members if member.status in ODD])
    if not snapshot.is_quiet or not odd or any(member.side is None for member in odd):
        return None
    if any(member.moved is not False and member.side is not None and member.side.kind != "stopped" for member in odd):
        return None
    side = odd[0].side
    assert side is not None
    if holders := _holding_peers(snapshot, odd, peers):
        return _held_by_peers(snapshot, odd, peers, holders)
    kind: Kind = (
        "stopped" if side.kind == "stopped" else waiting_kind(snapshot, odd) if peers else stage_kind(snapshot) or "unknown"
    )
    evidence = [Evidence("waits", f"{member.name} {member.text}") for member in odd[:2]]
    evidence += [*never_answers(snapshot, odd), *([stack_evidence(peers)] if peers else []), silence(snapshot)]
    culprits = as_culprits(locked, "likely", LOCKED) if (locked := _locked_ends(snapshot, odd)) else build_culprits(snapshot, odd)
    culprits = tuple(replace(culprit, confidence="possible") for culprit in culprits) if side.doubted else culprits
    waits = f"{names(odd[:1])} and {odd[1].name} wait for each other" if _face_each_other(odd) else _wait_of(odd)
    headline = f"{waits}{_waiting(odd, peers)}."
    return hung_verdict(headline, kind, culprits, tuple(evidence), "that process works again")


def _holding_peers(snapshot: Snapshot, odd: Sequence[MemberStatus], peers: Sequence[MemberStatus]) -> list[MemberStatus]:
    """Those who have the locks for which all that stand apart wait, and wait for their peers themselves."""
    watch = current_watch(snapshot.state, snapshot.pause_s)
    found = [watched(watch, member) for member in odd] if watch is not None else []
    at_locks = all(each is not None and (each[1].locked or each[1].call.kind == "file lock") for each in found)
    ends = {member.side.pid for member in odd if member.side is not None}
    holders = [member for member in peers if member.pid in ends]
    return holders if found and at_locks and len(holders) == len(ends) else []


def _held_by_peers(
    snapshot: Snapshot, odd: Sequence[MemberStatus], peers: Sequence[MemberStatus], holders: Sequence[MemberStatus]
) -> Verdict:
    """Who stands apart came to no collective for want of a lock; who has it went on into one and never gave it back."""
    headline = f"{names(odd)} wait{plural_s(odd)} for a lock that {names(holders).lower()} took into {holders[0].call}."
    culprits = as_culprits(holders, "likely", f"has the lock for which {names(odd).lower()} wait{plural_s(odd)}")
    evidence = (
        *(Evidence("waits", f"{member.name} {member.text}") for member in odd[:2]),
        stack_evidence(peers),
        silence(snapshot),
    )
    verdict = hung_verdict(headline, _kind(snapshot, odd, peers), culprits, evidence, "the lock is given back")
    # Whom nobody sees may be at work, and come to the call of the holder.
    return replace(verdict, word="stalled") if missing_ranks(snapshot) and snapshot.in_time else verdict


def _face_each_other(odd: Sequence[MemberStatus]) -> bool:
    """Whether they are two, and each waits for the other."""
    ends = [member.side.pid if member.side is not None else None for member in odd]
    return len(odd) == 2 and ends == [odd[1].pid, odd[0].pid]


def _locked_ends(snapshot: Snapshot, odd: Sequence[MemberStatus]) -> list[MemberStatus]:
    """The members at the end of their waits of which no thread can go on: they were taken for ones that wait for their peers."""
    watch = current_watch(snapshot.state, snapshot.pause_s)
    locks = dead_locks(wait_graph(look_of(watch))) if watch is not None else ()
    alone = {lock.pids[0] for lock in locks if len(lock.pids) == 1 and not lock.partly_seen}
    ends = {member.side.pid for member in odd if member.side is not None}
    found = [member for member in snapshot.members if member.pid in ends & alone]
    return found if len(found) == len(ends) else []


def roots(odd: Sequence[MemberStatus]) -> list[MemberStatus]:
    """Those of them that wait for none of the others; all, where that leaves nobody. A worker of a pool without work waits for
    whoever has some, and who waits for its children, or for what they compute, for those of them that stand."""
    telling = [member for member in odd if not _has_no_work(member)] or list(odd)
    pids, above = {member.pid for member in telling}, {member.pid: member.process.ppid for member in odd}
    parents = {parent for member in telling for parent in _line(above, member.pid)}
    found = [
        member
        for member in telling
        if (not pids.intersection(member.side.path) if member.side is not None else not _awaits(member, parents))
    ]
    return found or telling


def _has_no_work(member: MemberStatus) -> bool:
    """Whether it waits to be given something, in no function of the program's own."""
    return member.status == "waits" and member.does == "idle" and member.activity is not None and not functions(member.activity)


def _awaits(member: MemberStatus, parents: Collection[int]) -> bool:
    return member.does == "child" and member.pid in parents


def _line(above: Mapping[int, int], pid: int) -> Iterator[int]:
    """The members that are its parent, the parent of that, and so on. Stale lines of the table can form a ring."""
    passed = {pid}
    while (pid := above.get(pid, 0)) in above and pid not in passed:
        passed.add(pid)
        yield pid


def never_answers(snapshot: Snapshot, members: Iterable[MemberStatus]) -> tuple[Evidence, ...]:
    """Whose peer took a question and has said nothing since."""
    watch, found = current_watch(snapshot.state, snapshot.pause_s), []
    for member in members if watch is not None else ():
        assert watch is not None
        process = watched(watch, member)
        for moves in unanswered(*process) if process is not None else ():
            since = watch.reading.started_at + watch.reading.seconds - (moves.last.last_received_ms or 0) / 1000
            said = f"{moves.last.remote} took what {member.name} sent, and nothing has come back since {clock(since)}"
            found.append(Evidence("waits", said))
    return tuple(found[:2])
