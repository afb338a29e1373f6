"""A rule over runs in which some go on, and nothing of what they do can reach the log."""

from __future__ import annotations

from hangtop.diagnosis.facts.wait_graph import DeadLock, dead_locks, wait_graph
from hangtop.diagnosis.facts.wait_moves import look_of
from hangtop.diagnosis.members.rank_numbering import serves
from hangtop.diagnosis.rules.verdict_builders import as_culprits, hung_verdict, names, plural_s, silence, stage_kind, still
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import current_watch
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.verdict import Evidence, Verdict

WHY = "none of its threads can go on, and what writes the log waits for it"


def cut_off(snapshot: Snapshot) -> Verdict | None:
    """Whoever writes the log waits, directly or behind others, for a process of which no thread can ever go on, or for such that
    wait for each other, while others work on: what they give is only kept, as by the pipe before a stage that stands. One that is
    no member is named so too where nobody works.

    Stands before `alive`: work that nobody takes is no life of the run.
    """
    watch = current_watch(snapshot.state, snapshot.pause_s)
    if not snapshot.is_quiet or snapshot.lines_come or watch is None:
        return None
    members = {member.pid: member for member in (*snapshot.members, *snapshot.beside)}
    works, others = any(member.alive for member in members.values()), {member.pid for member in snapshot.beside}
    locks = dead_locks(wait_graph(look_of(watch)))
    waits_behind = {pid for lock in locks for pid in lock.behind}
    for lock in (each for each in locks if waits_behind.isdisjoint(each.pids)):
        inside = [members[pid] for pid in lock.pids if pid in members]
        stands = all(watch.processes[pid].stood for pid in lock.pids if pid in watch.processes)
        proven = stands and not lock.partly_seen and len(inside) == len(lock.pids) and all(map(_stands, inside))
        proven = proven and (works or {*lock.pids} <= others)
        if proven and _all_write_behind(snapshot, lock):
            return _cut_off(snapshot, lock, inside)
    return None


def _stands(member: MemberStatus) -> bool:
    return member.status == "waits" and member.moved is False


def _all_write_behind(snapshot: Snapshot, lock: DeadLock) -> bool:
    """Whether each process that has the log open waits for these. A shell that only waits for what it started writes nothing."""
    known = {process.pid: process for process in snapshot.procs.processes}
    writers = {writer.pid for writer in snapshot.procs.writers if writer.alive}
    telling = {pid for pid in writers if pid not in known or not serves(known[pid])}
    return bool(telling) and telling <= {*lock.behind, *lock.pids} and bool(telling & set(lock.behind))


def _cut_off(snapshot: Snapshot, lock: DeadLock, inside: list[MemberStatus]) -> Verdict:
    working = [member for member in snapshot.members if member.alive]
    first = inside[0]
    evidence = (
        Evidence("stacks", f"{first.name}: {first.text}{still(first)}"),
        Evidence("waits", f"what writes the log waits for {names(inside).lower()}"),
        silence(snapshot),
    )
    others = f"; what {names(working).lower()} give{plural_s(working)} comes no further" if working else ""
    headline = f"{names(inside)} {first.text}, and nothing can end that{others}."
    refute = "one of them leaves its wait"
    return hung_verdict(headline, stage_kind(snapshot) or "unknown", as_culprits(inside, "likely", WHY), evidence, refute)
