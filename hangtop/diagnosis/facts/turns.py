"""Processes that wait for messages of each other: whose turn is it? Pure.

The kernel counts the segments with data of a connection, and tells when the last one went each way (tcp_info in linux/tcp.h).
Where as many came as went, each message was answered by one; then whoever has taken one more than it sent owes the next."""

from __future__ import annotations

from hangtop.records.waiting import TcpSocket, outer_ends
from hangtop.records.watched_waits import WatchedProcess

LEAST_MESSAGES = 5
"""Each way, before that proves a habit."""
LEAST_PEERS = 3
"""Of two nobody knows which is the habit."""


def who_owes(one: WatchedProcess, other: WatchedProcess) -> int | None:
    """The pid of the one that left its message out, `None` where nothing tells."""
    far = {(moves.last.remote, moves.last.local): moves.last for moves in other.sockets}
    both = [(moves.last, far[ends]) for moves in one.sockets if (ends := (moves.last.local, moves.last.remote)) in far]
    if len(both) != 1:
        return None
    mine, its = _owes(both[0][0]), _owes(both[0][1])
    if mine == its:
        return None
    return one.pid if mine or its is False else other.pid


def sent_less(hub: WatchedProcess) -> int | None:
    """The pid of the one that sent this process one message less than all others did, of which it waits for all; `None` where
    nothing tells."""
    first = next(iter(hub.threads), None)
    far = {end.object.inode: end.pids for end in (outer_ends(first) if first is not None else ()) if end.object.kind == "tcp"}
    rows = [(moves.last, far[moves.last.inode]) for moves in hub.sockets if len(far.get(moves.last.inode, ())) == 1]
    counts = [row.segments_in or 0 for row, _ in rows]
    least = min(counts, default=0)
    if len(counts) < LEAST_PEERS or least < LEAST_MESSAGES or sorted(counts)[1:] != [least + 1] * (len(counts) - 1):
        return None
    return next((pids[0] for row, pids in rows if row.segments_in == least and not row.unread_bytes), None)


def _owes(row: TcpSocket) -> bool | None:
    """Whether this side took the last message. With as many each way the times tell, if they are not the same."""
    sent, came = row.segments_out, row.segments_in
    if sent is None or came is None or min(sent, came) < LEAST_MESSAGES or abs(sent - came) > 1 or row.unread_bytes:
        return None
    if sent != came:
        return came > sent
    if row.last_sent_ms is None or row.last_received_ms is None or row.last_sent_ms == row.last_received_ms:
        return None
    return row.last_received_ms < row.last_sent_ms
