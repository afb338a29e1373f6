"""What moves where a thread waits, and what the process at the other end does."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.facts.other_side import side_of
from hangtop.diagnosis.facts.wait_moves import moves_of, watch_of
from hangtop.records.stack import Excerpt, Frame, Loop, Stack, StacksReading, Thread
from hangtop.records.waiting import BlockedCall, OtherEnd, TcpSocket, ThreadWait, WaitObject
from hangtop.records.watched_waits import SocketMoves, ThreadMoves, WatchedProcess
from tests.fakes.waited import OUTSIDE, at_lock, at_pipe, at_tcp, tcp, waits, watch, watched

EVENT = OtherEnd(WaitObject("eventfd", reads=True), known=False)
LISTENER = OtherEnd(WaitObject("tcp", reads=True, inode=3, tcp_state="listen"), known=False)


def moved(process: WatchedProcess, *others: WatchedProcess) -> str | None:
    found = moves_of(watch_of(watch(process, *others)), process, process.threads[0])
    return None if found is None else found.text


def side(thread: ThreadWait, *others: WatchedProcess) -> tuple[str, int | None] | None:
    own = watched(thread.call.pid, thread)
    found = side_of(watch_of(watch(own, *others)), own, thread)
    return None if found is None else (found.kind, found.pid)


def test_bytes_that_come_in_two_windows_are_life_beside_one_connection() -> None:
    asks = waits(1, at_tcp(8))
    assert moved(watched(1, asks, sockets=(tcp(8, received_in=2, received_bytes=40),))) == "receives from 127.0.0.1:2"
    assert moved(watched(1, asks, sockets=(tcp(8, received_in=1, received_bytes=40),))) is None
    assert moved(watched(1, asks, sockets=(tcp(9, received_in=4, received_bytes=40),))) is None, "another connection"


def test_a_byte_that_is_taken_keeps_a_sender_alive() -> None:
    sends = waits(1, at_tcp(8, reads=False, writes=True), kind="send")
    assert moved(watched(1, sends, sockets=(tcp(8, acked_in=1, acked_bytes=9),))) == "sends to 127.0.0.1:2"
    assert moved(watched(1, sends, sockets=(tcp(8, always_unsent=True),))) is None
    far = SocketMoves(TcpSocket(12, "127.0.0.1:2", "127.0.0.1:1", "established", 0), taken_in=1)
    assert moved(watched(1, sends, sockets=(tcp(8, always_unsent=True),)), watched(2, sockets=(far,))) is not None


def test_beside_several_connections_a_heartbeat_is_no_life_but_a_transfer_is() -> None:
    loop = waits(1, at_tcp(8), at_tcp(9), EVENT, kind="poll")
    assert moved(watched(1, loop, sockets=(tcp(8, received_in=4, received_bytes=80),))) is None
    assert moved(watched(1, loop, sockets=(tcp(8, received_in=4, received_bytes=9_000, full=True),))) is not None
    assert moved(watched(1, loop, sockets=(tcp(8, acked_in=2, always_unsent=True),))) is not None
    assert moved(watched(1, waits(1, at_tcp(8), EVENT, kind="poll"), sockets=(tcp(8, received_in=3),))) is not None, "alone"


def test_bytes_that_come_at_each_of_several_connections_are_life_whichever_counts() -> None:
    loop = waits(1, at_tcp(8), at_tcp(9), EVENT, kind="poll")
    assert moved(watched(1, loop, sockets=(tcp(8, received_in=2), tcp(9, received_in=3)))) is not None
    assert moved(watched(1, loop, sockets=(tcp(8, received_in=2), tcp(9, received_in=1)))) is None
    beside = waits(1, at_tcp(8), at_tcp(9), at_pipe(2), kind="poll")
    assert moved(watched(1, beside, sockets=(tcp(8, received_in=4), tcp(9, received_in=4)))) is None, "a pipe too"


def test_threads_beside_the_one_that_waits_count_only_with_a_transfer() -> None:
    own = OtherEnd(WaitObject("futex", shared=False), (1,))
    joins = waits(1, own, kind="futex")
    assert moved(watched(1, joins, sockets=(tcp(8, received_in=4, received_bytes=80),))) is None
    assert moved(watched(1, joins, sockets=(tcp(8, received_in=4, received_bytes=9_000, full=True),))) is not None
    at = waits(1, at_lock(OUTSIDE), kind="file lock")
    assert moved(watched(1, at, sockets=(tcp(8, received_in=4, full=True),))) is None, "no thread of its own ends this wait"


def test_bytes_of_the_thread_itself_count_where_it_reads_or_writes() -> None:
    reads = waits(1, at_pipe(2), kind="read")
    assert moved(watched(1, reads, moves=(ThreadMoves(1, 2, 12),))) == "reads or writes"
    assert moved(watched(1, reads, moves=(ThreadMoves(1, 1, 12),))) is None
    assert moved(watched(1, reads, moves=(ThreadMoves(6, 4, 12),))) is None, "another thread"
    assert moved(watched(1, waits(1, kind="sleep"), moves=(ThreadMoves(1, 4, 12),))) is None, "a loop that looks"


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (watched(OUTSIDE, waits(OUTSIDE, state="T"), state="T"), "stopped"),
        (watched(OUTSIDE, state="X"), "dead"),
        (watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), busy_in=3), "works"),
        (watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), busy_in=1), "idle"),
        (watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), moves=(ThreadMoves(OUTSIDE, 4, 9),)), "works"),
        (watched(OUTSIDE, waits(OUTSIDE, LISTENER, kind="poll"), moves=(ThreadMoves(OUTSIDE, 4, 9),)), "idle"),
        (watched(OUTSIDE, waits(OUTSIDE, at_tcp(8)), sockets=(tcp(8, received_in=3),)), "works"),
    ],
)
def test_the_process_at_the_other_end(other: WatchedProcess, kind: str) -> None:
    assert side(waits(1, at_lock(OUTSIDE), kind="file lock"), other) == (kind, OUTSIDE)


def test_the_command_of_a_shell_that_ended_is_followed_by_the_next() -> None:
    """The shell of a loop has the other end of a pipe: it was woken, and runs its next command."""
    child = OtherEnd(WaitObject("child"), (9,))
    over = watched(9, state="X")
    at = waits(1, at_pipe(OUTSIDE), kind="read")
    assert side(at, watched(OUTSIDE, waits(OUTSIDE, child, kind="child"), woken_in=2), over) == ("works", 9)
    assert side(at, watched(OUTSIDE, waits(OUTSIDE, child, kind="child")), over) == ("dead", 9)


def test_what_a_waiter_sends_is_no_work_of_the_other_end() -> None:
    asks = watched(1, waits(1, at_tcp(8, OUTSIDE), at_tcp(7), kind="poll"), sockets=(tcp(8, acked_in=4),))
    back = SocketMoves(TcpSocket(12, "127.0.0.1:2", "127.0.0.1:1", "established", 0), received_in=4, received_bytes=16)
    other = watched(OUTSIDE, waits(OUTSIDE, at_tcp(12)), sockets=(back,))
    found = side_of(watch_of(watch(asks, other)), asks, waits(1, at_tcp(8, OUTSIDE)))
    assert found is not None
    assert found.kind == "idle"


def test_a_server_does_not_wait_for_its_other_clients() -> None:
    client = watched(3, waits(3, kind="sleep"), busy_in=4)
    asked = waits(OUTSIDE, at_tcp(12, 3), kind="poll")
    assert side(waits(1, at_tcp(8, OUTSIDE)), watched(OUTSIDE, asked), client) == ("works", 3)
    assert side(waits(1, at_tcp(8, OUTSIDE)), watched(OUTSIDE, asked, listens=("1",)), client) == ("idle", OUTSIDE)


def test_several_hops_lead_to_the_process_at_the_end() -> None:
    between = watched(2, waits(2, at_pipe(3), kind="read"))
    assert side(waits(1, at_lock(2)), between, watched(3, waits(3, state="T"), state="T")) == ("stopped", 3)
    assert side(waits(1, at_lock(2)), between, watched(3, waits(3, kind="sleep"), busy_in=4)) == ("works", 3)


def test_one_of_several_that_may_end_a_wait_is_not_blamed_but_may_work() -> None:
    stopped, idle = watched(2, waits(2, state="T"), state="T"), watched(3, waits(3, kind="sleep"))
    assert side(waits(1, at_pipe(2, 3)), stopped, idle) is None
    assert side(waits(1, at_pipe(2, 3)), stopped, watched(3, waits(3, kind="sleep"), busy_in=4)) == ("works", 3)
    behind = watched(3, waits(3, at_pipe(2), kind="read"))
    assert side(waits(1, at_pipe(2, 3)), stopped, behind) == ("stopped", 2), "both ways lead to it"


def test_a_program_that_asks_another_machine_and_listens_to_its_caller() -> None:
    far = OtherEnd(WaitObject("tcp", reads=True, inode=8, local="10.0.0.1:9", remote="10.0.0.9:22"), elsewhere=True)
    ssh = watched(2, waits(2, at_pipe(1), far, kind="poll"))
    assert side(waits(1, at_pipe(2)), ssh) == ("unseen", None)
    other = watched(2, waits(2, at_pipe(3), far, kind="poll"))
    assert side(waits(1, at_pipe(2)), other) == ("idle", 2), "a third process may be what it waits for"


def test_a_fifo_that_nobody_has_open() -> None:
    fifo = OtherEnd(WaitObject("fifo", reads=True, inode=4, path="/tmp/go"))
    assert side(waits(1, fifo, kind="open")) == ("nobody", None)


def handler(rest_s: float, started_ticks: int) -> ThreadWait:
    """A thread of a server that sleeps, until a moment that is set."""
    return ThreadWait(
        BlockedCall(OUTSIDE, 9, "S", "sleep", "nanosleep", rest_s=rest_s, rest_exact=True, started_ticks=started_ticks)
    )


@pytest.mark.parametrize(
    ("thread", "kind"),
    [
        (handler(20, 8), "works"),
        (handler(0.4, 8), "works"),  # it goes from sleep to sleep
        (handler(3_600, 8), "idle"),
        (handler(20, 6), "idle"),  # older than the one that asks: a heart, between two beats
    ],
)
def test_a_thread_of_a_server_that_was_made_for_a_question_may_sleep(thread: ThreadWait, kind: str) -> None:
    asks = watched(1, waits(1, at_tcp(8, OUTSIDE)))
    server = watched(OUTSIDE, waits(OUTSIDE, LISTENER, kind="poll"), thread)
    found = side_of(watch_of(watch(asks, server), silent_since=9_980.0, pause_s=90.0), asks, asks.threads[0])
    assert found is not None
    assert found.kind == kind


def test_an_event_loop_of_a_server_may_have_set_itself_a_clock() -> None:
    asks = watched(1, waits(1, at_tcp(8, OUTSIDE)))
    for rest_s, kind in ((30.0, "works"), (5.0, "idle"), (3_600.0, "idle")):  # 5 s: one of many since the last output
        call = BlockedCall(OUTSIDE, OUTSIDE, "S", "poll", "epoll_wait", timed=True, rest_s=rest_s)
        server = watched(OUTSIDE, ThreadWait(call, (LISTENER,)))
        found = side_of(watch_of(watch(asks, server), silent_since=9_980.0, pause_s=90.0), asks, asks.threads[0])
        assert found is not None
        assert found.kind == kind, rest_s


def test_a_server_of_one_thread_that_goes_from_sleep_to_sleep() -> None:
    server = watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), listens=("1",), woken_in=3)
    for queued, kind in ((False, "works"), (True, "idle")):
        asks = watched(1, waits(1, at_tcp(8, OUTSIDE)), sockets=(tcp(8, queued=queued),))
        found = side_of(watch_of(watch(asks, server), silent_since=9_980.0, pause_s=90.0), asks, asks.threads[0])
        assert found is not None
        assert (found.kind, found.doubted) == (kind, not queued)


def event_loop(timers: int | None, *, woken_in: int = 3, queued: bool = False) -> tuple[str, bool] | None:
    """What is said of a server whose event loop waits at the connection of the one that asks, and wakes all the while."""
    asks = watched(1, waits(1, at_tcp(8, OUTSIDE)), sockets=(tcp(8, queued=queued),))
    call = BlockedCall(OUTSIDE, OUTSIDE, "S", "poll", "epoll_wait", timed=True, rest_s=0.4)
    server = watched(OUTSIDE, ThreadWait(call, (LISTENER, at_tcp(9, 1))), listens=("2",), woken_in=woken_in)
    loop = Thread("MainThread", (Frame("_run_once", "/usr/lib/python3.11/asyncio/base_events.py", 1884),), OUTSIDE, timers=timers)
    looks = (StacksReading(1, stacks=(Stack(OUTSIDE, 9_991.0, (loop,)),), started_at=9_991.0),)
    found = side_of(watch_of(watch(asks, server), silent_since=9_980.0, pause_s=90.0, looks=looks), asks, asks.threads[0])
    return None if found is None else (found.kind, found.doubted)


def test_an_event_loop_that_took_the_question_and_ticks_is_no_proof_of_a_hang() -> None:
    assert event_loop(1) == ("unsure", True), "its only clock is the one by which it wakes"
    assert event_loop(None) == ("unsure", True), "not of asyncio, or not to be read"
    assert event_loop(3) == ("works", True), "one more may be that of the answer"
    assert event_loop(1, woken_in=0) == ("idle", False)
    assert event_loop(1, queued=True) == ("idle", False), "the question was not even taken"


@pytest.mark.parametrize(("loop", "kind"), [("ends", "works"), ("none", "works"), ("asks", "unsure"), ("waits", "unsure")])
def test_the_loop_around_the_sleep_of_a_handler_tells_whether_it_ends_by_itself(loop: Loop, kind: str) -> None:
    asks = watched(1, waits(1, at_tcp(8, OUTSIDE)))
    server = watched(OUTSIDE, waits(OUTSIDE, LISTENER, kind="poll"), handler(0.4, 8))
    place = Frame("do_GET", "/srv/server.py", 7)
    source = Excerpt("/srv/server.py", 6, ("", "sleep(0.4)"), at=7, loop=loop)
    looks = (StacksReading(1, stacks=(Stack(OUTSIDE, 9_991.0, (Thread("handler", (place,), 9),)),), excerpts=(source,)),)
    found = side_of(watch_of(watch(asks, server), silent_since=9_980.0, pause_s=90.0, looks=looks), asks, asks.threads[0])
    assert found is not None
    assert found.kind == kind


def test_a_process_whose_first_thread_waits_for_its_others_rests_as_long_as_one_of_them() -> None:
    own = OtherEnd(WaitObject("futex", shared=False), (OUTSIDE,))
    asks = watched(1, waits(1, at_pipe(OUTSIDE)))
    for rest_s, kind in ((30.0, "works"), (3_600.0, "idle")):
        call = BlockedCall(OUTSIDE, 9, "S", "sleep", "nanosleep", rest_s=rest_s, rest_exact=True)
        joins = watched(OUTSIDE, waits(OUTSIDE, own, kind="futex"), ThreadWait(call))
        found = side_of(watch_of(watch(asks, joins), silent_since=9_980.0, pause_s=90.0), asks, asks.threads[0])
        assert found is not None
        assert found.kind == kind


def test_a_server_that_waits_for_its_clients_and_for_another_that_idles_owes_the_answer_itself() -> None:
    asks = watched(1, waits(1, at_tcp(8, OUTSIDE)))
    server = watched(OUTSIDE, waits(OUTSIDE, at_tcp(9, 1), at_pipe(7), kind="poll"), listens=("1",))
    for other, end in ((watched(7, waits(7, LISTENER, kind="poll")), OUTSIDE), (watched(7, waits(7), busy_in=4), 7)):
        found = side_of(watch_of(watch(asks, server, other)), asks, asks.threads[0])
        assert found is not None
        assert found.pid == end
    forwards = watched(OUTSIDE, waits(OUTSIDE, at_pipe(7), kind="read"), listens=("1",))
    found = side_of(watch_of(watch(asks, forwards, watched(7, waits(7, LISTENER, kind="poll")))), asks, asks.threads[0])
    assert found is not None
    assert found.pid == 7, "it asks on, and waits for that alone"
