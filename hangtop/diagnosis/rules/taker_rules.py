"""Rules over members that cannot go on before somebody takes what they give."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.diagnosis.rules.verdict_builders import as_culprits, hung_verdict, names, plural_s, silence, stage_kind
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import current_watch, ends_of
from hangtop.diagnosis.status.member_status import MemberStatus, stacks_of, status_of
from hangtop.records.process import Process
from hangtop.records.stack import Frame
from hangtop.records.verdict import Evidence, Verdict
from hangtop.stacks.frames import own
from hangtop.stacks.process_groups import joins_children, works_in_threads

QUEUES, CONNECTIONS = "multiprocessing/queues.py", "multiprocessing/connection.py"
PUTS = ("put", "_finalize_join")
"""The second runs when a process leaves: what it has put must first be taken."""
SENDS = ("send", "send_bytes")


def nobody_takes(snapshot: Snapshot) -> Verdict | None:
    """All members wait until somebody takes what they have put into a queue or sent, and the process that started them waits for
    their end: the only one that is left to take it does not.

    Stands before `dead_lock`: that rule sees the circle, and not that one in it has left out to take.
    """
    givers = [member for member in snapshot.members if member.status != "gone"]
    if not snapshot.is_quiet or snapshot.only_beats or not givers or snapshot.beside or not all(map(_gives, givers)):
        return None
    parent = _parent(snapshot, givers)
    if parent is None or not (any(_calls(member, QUEUES, PUTS) for member in givers) or _alone_reads(snapshot, givers, parent)):
        return None
    why = "it waits for its children to end, and takes nothing that they give"
    evidence = (
        Evidence("stacks", f"{names(givers)}: {givers[0].text}, and {parent.name}: {parent.text}"),
        silence(snapshot),
    )
    headline = f"{names([parent])} {parent.text}; {names(givers).lower()} wait{plural_s(givers)} until it takes what they gave."
    culprits = as_culprits([parent], "likely", why)
    return hung_verdict(headline, stage_kind(snapshot) or "unknown", culprits, evidence, "a message is taken")


def _gives(member: MemberStatus) -> bool:
    """Whether it stands where it waits until another takes what it gives."""
    stands = member.status == "waits" and member.moved is False
    return stands and (_calls(member, QUEUES, PUTS) or _calls(member, CONNECTIONS, SENDS))


def _calls(member: MemberStatus, file: str, functions: Sequence[str]) -> bool:
    """Whether its own code stands in one of these functions of a library."""
    return any(frame.file.endswith(file) and frame.name in functions for frame in _below_own(member))


def _below_own(member: MemberStatus) -> tuple[Frame, ...]:
    frames = member.frames
    return frames[: next(iter(own(frames)), len(frames))]


def _parent(snapshot: Snapshot, children: Sequence[MemberStatus]) -> MemberStatus | None:
    """The one process that started all of these, if in all looks it waited for their end and has no other thread of the
    program's that may take what they give."""
    above = {member.process.ppid for member in children}
    found: Process | None = next((each for each in snapshot.procs.processes if {each.pid} == above and not each.exited), None)
    if found is None:
        return None
    looks = stacks_of(found, snapshot.state.looks)
    if len(looks) < 2 or not all(joins_children(stack) and not works_in_threads(stack) for _, stack in looks):
        return None
    parent = status_of(snapshot.state, found, patient=snapshot.patient)
    stands = parent.status == "waits" and parent.moved is False
    return parent if stands and not _joins_another(snapshot, parent, children) else None


def _joins_another(snapshot: Snapshot, parent: MemberStatus, givers: Sequence[MemberStatus]) -> bool:
    """Whether it may wait for the end of a child that gives nothing, and take again afterwards: by the kernel, and by the
    children that were looked at."""
    watch, known = current_watch(snapshot.state, snapshot.pause_s), {member.pid for member in givers}
    joined = {pid for end in (ends_of(watch, parent) if watch is not None else ()) for pid in end.pids}
    looked_at = {stack.pid for look in snapshot.state.looks for stack in look.stacks}
    children = {process.pid for process in snapshot.procs.processes if process.ppid == parent.pid and not process.exited}
    return not joined <= known or not (children & looked_at) <= known


def _alone_reads(snapshot: Snapshot, givers: Sequence[MemberStatus], parent: MemberStatus) -> bool:
    """Whether the other end of what one of them sends through is the parent's alone: of a ring each sends to a sibling."""
    watch = current_watch(snapshot.state, snapshot.pause_s)
    ends = [(member.pid, end) for member in givers for end in (ends_of(watch, member) if watch is not None else ())]
    return any({*end.pids} - {pid} == {parent.pid} for pid, end in ends)
