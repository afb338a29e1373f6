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
TEXT = "reads again and again from a connection that its other end has closed"
_READS = re.compile(r"\b(?:recv|read)\w*\(")


def reads_a_closed_end(member: MemberStatus, process: WatchedProcess, sources: Sources) -> bool:
    """Whether it spins so: a core is busy, no byte moves anywhere, a connection was closed by its other end and all of it was
    taken, and the loop in which it stands reads and comes back until something has changed."""
    ended = any(moves.last.state == CLOSED and not moves.last.unread_bytes for moves in process.sockets)
    if not ended or member.moved is not False or process.busy_in < AGAIN or process.moves or does_more(member.process):
        return False
    if any(moves.received_in or moves.acked_in or moves.taken_in for moves in process.sockets):
        return False
    places = own(member.frames)
    return bool(places) and _reads_in_a_loop(member.frames[places[0]], sources)


def _reads_in_a_loop(place: Frame, sources: Sources) -> bool:
    found = next((excerpt for excerpt in sources if (excerpt.file, excerpt.at) == (place.file, place.line)), None)
    if found is None or found.loop not in (*LOOKS_AGAIN, "endless"):
        return False
    begin = max((found.loop_line or found.at) - found.first, 0)
    return any(_READS.search(line) for line in found.lines[begin:])
