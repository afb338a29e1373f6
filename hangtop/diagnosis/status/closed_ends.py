"""A busy member that reads from a connection whose other end is gone. Each read gives nothing and returns at once (recv(2)), so
that a loop which waits for more spins for ever: what looks like work is a wait for the dead. Pure."""

from __future__ import annotations

import re

from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.stack import Frame
from hangtop.records.watched_waits import AGAIN, WatchedProcess
from hangtop.stacks.frames import own
from hangtop.stacks.loops import LOOKS_AGAIN, Sources, does_more

CLOSED = "close-wait"
"""The other end has closed, and this process has not (RFC 9293, 3.3.2)."""
_READS = re.compile(r"\b(?:recv|read)\w*\(")


def closed_end(member: MemberStatus, process: WatchedProcess, sources: Sources) -> str | None:
    """What it does, if it spins so: a core is busy, no byte moves, a connection was closed by its other end and all of it
    was taken, and the loop in which it stands reads and comes back until something has changed."""
    known = member.activity
    if known is None or not _may_spin(member, process) or not _reads_in_a_loop(known.thread.frames, sources):
        return None
    return f"reads again and again in {known.own.name} ({known.where}) from a connection that its other end has closed"


def _may_spin(member: MemberStatus, process: WatchedProcess) -> bool:
    ended = any(moves.last.state == CLOSED and not moves.last.unread_bytes for moves in process.sockets)
    if not ended or member.moved is not False or process.busy_in < AGAIN or process.moves or does_more(member.process):
        return False
    return not any(moves.received_in or moves.acked_in or moves.taken_in for moves in process.sockets)


def _reads_in_a_loop(frames: tuple[Frame, ...], sources: Sources) -> bool:
    """Whether the innermost line of the user's own reads, in a loop that comes back."""
    place = next((frames[inner] for inner in own(frames)), None)
    if place is None:
        return False
    found = next((excerpt for excerpt in sources if (excerpt.file, excerpt.at) == (place.file, place.line)), None)
    if found is None or found.loop not in (*LOOKS_AGAIN, "takes", "endless"):
        return False
    return _READS.search(found.lines[found.at - found.first]) is not None
