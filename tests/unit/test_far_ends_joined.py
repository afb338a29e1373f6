"""A connection between two nodes: its two ends are one when both kernels have its addresses and counted the same on it, and what
the process there does decides only where all of its waits can be seen."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.other_side import OtherSide, named, side_of
from hangtop.diagnosis.facts.wait_moves import watch_of
from hangtop.probe.nodes.node_waits import FarProcess, with_far_ends
from hangtop.records.nodes import on_node
from hangtop.records.waiting import BlockedCall, ObjectKind, OtherEnd, TcpSocket, ThreadWait, WaitObject
from hangtop.records.watched_waits import WatchedProcess
from tests.fakes.waited import watch

HERE, THERE = "10.0.0.1:40000", "10.0.0.2:7000"
NEAR, FAR = 100, on_node(1, 200)
OURS = TcpSocket(8, HERE, THERE, "established", 0, acked_bytes=17, received_bytes=150)
THEIRS = TcpSocket(9, THERE, HERE, "established", 0, acked_bytes=150, received_bytes=16)


def at(pid: int, row: TcpSocket) -> ThreadWait:
    call = BlockedCall(pid, pid, "S", "receive", "recvfrom", timed=None)
    return ThreadWait(
        call, (OtherEnd(WaitObject("tcp", True, inode=row.inode, local=row.local, remote=row.remote), elsewhere=True),)
    )


def there(*threads: ThreadWait, complete: bool = True, stood: bool = True) -> WatchedProcess:
    return WatchedProcess(FAR, 7, "S", "python", "python server.py", None, threads, complete, stood, host="n2", busy_in=0)


RANK = WatchedProcess(NEAR, 5, "S", "python", "python train.py", "ann", (at(NEAR, OURS),), True, True)
LOCKED = ThreadWait(BlockedCall(FAR, FAR, "S", "futex", "futex", shared=False), (OtherEnd(WaitObject("futex"), (FAR,)),))


def side(far: WatchedProcess, theirs: TcpSocket = THEIRS) -> OtherSide | None:
    told = with_far_ends([RANK], [FarProcess(far, {(theirs.local, theirs.remote): theirs})], {(HERE, THERE): (NEAR, OURS)})
    seen = watch_of(watch(*told))
    return side_of(seen, seen.processes[NEAR], seen.processes[NEAR].threads[0])


def test_a_process_there_that_stands_is_what_the_rank_here_waits_for_and_is_named_with_its_node() -> None:
    found = side(there(LOCKED))
    assert found is not None
    assert (found.kind, found.pid, found.text) == (
        "idle",
        FAR,
        "`python server.py` (pid 200 on n2), which does nothing: it is in futex",
    )


def test_one_that_computes_there_keeps_the_rank_here_alive() -> None:
    found = side(replace(there(LOCKED), busy_in=4))
    assert found is not None
    assert found.kind == "works"


def test_ends_that_counted_otherwise_are_of_two_connections_with_the_same_addresses() -> None:
    for other in (replace(THEIRS, received_bytes=9_000), replace(THEIRS, acked_bytes=None)):
        found = side(there(LOCKED), other)
        assert found is not None
        assert (found.kind, found.pid) == ("unseen", None)


@pytest.mark.parametrize("kind", ["unknown", "pipe", "unix"])
def test_what_waits_there_at_something_that_is_not_looked_at_is_not_said_to_idle(kind: ObjectKind) -> None:
    reads = ThreadWait(BlockedCall(FAR, FAR, "S", "read", "read"), (OtherEnd(WaitObject(kind, True), known=False),))
    for process in (there(reads), there(LOCKED, reads), there(LOCKED, complete=False)):
        found = side(process)
        assert found is not None
        assert (found.kind, found.pid) == ("unseen", FAR)
        assert found.text == "`python server.py` (pid 200 on n2), of which it cannot be seen from here what it waits for"


def test_both_ends_lead_to_each_other() -> None:
    far = FarProcess(there(at(FAR, THEIRS)), {(THERE, HERE): THEIRS})
    near, other = with_far_ends([RANK], [far], {(HERE, THERE): (NEAR, OURS)})
    assert near.threads[0].ends[0].pids == (FAR,)
    assert other.threads[0].ends[0].pids == (NEAR,)
    assert named(near) == "`python train.py` (pid 100, ann)"


def test_without_an_answer_of_a_node_nothing_changes() -> None:
    assert with_far_ends([RANK], [], {(HERE, THERE): (NEAR, OURS)}) == (RANK,)
