"""Ranks that all send to one rank or receive from one, as the neighbours of a pipeline do: who left a message out? Pure.

Which of both it waits in tells nothing of a rank: in a pipeline that lives some send while others receive. What tells is the part
of the program in which each stands, by the loops around its own lines: the rank that went on to another part without a message
waits there for an answer that cannot come, while its neighbours are still in the part before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from hangtop.diagnosis.members.parallel_groups import PAIRWISE
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.stacks.frames import own
from hangtop.stacks.loops import Sources, loop_line
from hangtop.stacks.process_groups import started

AT_LEAST = 3


def all_in_pairs(waiting: Sequence[MemberStatus]) -> bool:
    """Whether each waits in a call between two ranks."""
    return all(member.call in PAIRWISE for member in waiting)


def left_a_message_out(waiting: Sequence[MemberStatus], sources: Sources) -> list[MemberStatus]:
    """The one that did, or those of which one did; nobody where all stand in one part of the program, or nothing tells.

    One that receives in a part of its own is it. One that sends there is not: it offers what another does not take. Then, and of
    two ranks, nothing tells which."""
    parts = [_part(member, sources) for member in waiting]
    most, size = Counter(parts).most_common(1)[0]
    odd = [member for member, part in zip(waiting, parts, strict=True) if part != most]
    if not odd:
        return []
    if len(waiting) < AT_LEAST:
        return list(waiting)
    if len(odd) == 1 and size >= 2 and _receives(odd[0]):
        return odd
    senders = [member for member in waiting if not _receives(member)]
    return senders if len(senders) == 2 else []


def _part(member: MemberStatus, sources: Sources) -> Hashable:
    """The way through the user's own functions, with the loop of each."""
    frames = member.frames
    ours = [frames[place] for place in own(frames) if place < started(frames)]
    return tuple((frame.function, frame.file, loop_line(frame, sources)) for frame in ours)


def _receives(member: MemberStatus) -> bool:
    return "recv" in (member.call or "")
