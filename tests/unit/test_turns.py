"""Two processes that both wait for a message of the other: whose turn is it?"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.turns import sent_less, who_owes
from hangtop.records.watched_waits import WatchedProcess
from tests.fakes.waited import at_tcp, tcp, waits, watched

Side = tuple[int, int, int, int]
"""Messages sent, and taken; milliseconds since the last of each."""


def side(pid: int, told: Side, ends: tuple[str, str]) -> WatchedProcess:
    sent, came, sent_ms, came_ms = told
    moves = tcp(pid)
    row = replace(
        moves.last,
        local=ends[0],
        remote=ends[1],
        segments_out=sent,
        segments_in=came,
        last_sent_ms=sent_ms,
        last_received_ms=came_ms,
    )
    return watched(pid, sockets=(replace(moves, last=row),))


@pytest.mark.parametrize(
    ("one", "other", "owes"),
    [
        ((25, 24, 50, 90), (24, 25, 90, 50), 2),  # 1 asked, and 2 never answered
        ((24, 25, 90, 50), (25, 24, 50, 90), 1),
        ((24, 24, 90, 50), (24, 24, 50, 50), 1),  # 2 has answered last, and 1 asks nothing more
        ((24, 24, 50, 50), (24, 24, 50, 50), None),
        ((99, 96, 50, 90), (96, 99, 90, 50), None),  # more than one on its way: no turns
        ((2, 1, 50, 90), (1, 2, 90, 50), None),
    ],
)
def test_who_took_one_message_more_than_it_sent_owes_the_next(one: Side, other: Side, owes: int | None) -> None:
    assert who_owes(side(1, one, ("a:1", "a:2")), side(2, other, ("a:2", "a:1"))) == owes


def test_another_connection_tells_nothing() -> None:
    assert who_owes(side(1, (25, 24, 5, 9), ("a:1", "a:2")), side(2, (24, 25, 9, 5), ("a:3", "a:1"))) is None


def hub(*counts: int, unread_bytes: int = 0, alone: bool = True) -> WatchedProcess:
    """Waits at a connection to each of so many processes, which have sent it so many messages; their pids are 101, 102 …"""
    pids = [101 + place for place in range(len(counts))]
    ends = (at_tcp(pid, *((pid,) if alone else (pid, 99))) for pid in pids)
    rows = (replace(tcp(pid).last, segments_in=count, unread_bytes=unread_bytes) for pid, count in zip(pids, counts, strict=True))
    sockets = tuple(replace(tcp(row.inode), last=row) for row in rows)
    return watched(100, waits(100, *ends, kind="poll"), sockets=sockets)


def test_who_sent_one_message_less_than_all_others_owes_it() -> None:
    assert sent_less(hub(21, 20, 21)) == 102
    assert sent_less(hub(21, 21, 21)) is None, "nobody's message is missing"
    assert sent_less(hub(21, 20, 22)) is None, "no habit"
    assert sent_less(hub(21, 20)) is None, "of two nobody knows which is the habit"
    assert sent_less(hub(3, 2, 3)) is None
    assert sent_less(hub(21, 20, 21, unread_bytes=2)) is None, "its message is there, and was not taken"
    assert sent_less(hub(21, 20, 21, alone=False)) is None, "who is at the other end is not known"
