"""From counters at several moments to what moved in how many windows."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.probe.waits.samples import Moment, Sample
from hangtop.probe.waits.surroundings import unlike
from hangtop.probe.waits.wait_source import is_doubtful, is_queued
from hangtop.probe.waits.windows import busy_in, changed_in, main_s, samples_of, socket_moves, thread_moves, unix_moves, woken_in
from hangtop.records.waiting import BlockedCall, OtherEnd, TcpSocket
from hangtop.records.watched_waits import ThreadMoves, UnixMoves, windows_sent
from hangtop.system.waits.sockets import UnixSocket
from tests.fakes.waited import at_tcp, tcp, waits, watched

ROW = TcpSocket(8, "127.0.0.1:1", "127.0.0.1:2", "established", 0)


def moments(*samples: Sample) -> list[Moment]:
    return [Moment(float(at), {1: sample}) for at, sample in enumerate(samples)]


def rows(*told: tuple[int, int, int, int]) -> list[Moment]:
    """Received, segments that held it, unread, unacknowledged."""
    seen = (
        replace(ROW, received_bytes=received, segments_in=segments, unread_bytes=unread, unacked_bytes=unacked, acked_bytes=0)
        for received, segments, unread, unacked in told
    )
    return [Moment(float(at), {}, {8: row}) for at, row in enumerate(seen)]


def test_windows_in_which_a_process_was_busy() -> None:
    seen = samples_of(moments(*(Sample("S", 7, ticks) for ticks in (0, 50, 55, 66))), 1)
    assert busy_in(seen, ticks_per_s=100) == 2, "half a core, a twentieth, a little more than a tenth"
    starved = samples_of(moments(*(Sample("R", 7, 0, main_ns=ns) for ns in (0, 900_000_000, 1_800_000_000))), 1)
    assert busy_in(starved, ticks_per_s=100) == 2, "it waited for a core"
    assert main_s(starved) == 1.8


def test_samples_of_another_process_with_the_pid_are_left_out() -> None:
    assert len(samples_of(moments(Sample("S", 6, 9), Sample("S", 7, 0), Sample("S", 7, 1)), 1)) == 2


def test_a_thread_that_goes_from_call_to_call() -> None:
    calls = [
        BlockedCall(1, 1, "S", "read", "read"),
        BlockedCall(1, 1, "S", "read", "read"),
        BlockedCall(1, 1, "S", "poll", "poll"),
    ]
    assert changed_in(samples_of(moments(*(Sample("S", 7, 0, call) for call in calls)), 1)) == 1


def test_bytes_of_threads() -> None:
    seen = samples_of(moments(*(Sample("S", 7, 0, bytes={1: count, 2: 5}) for count in (10, 12, 12, 30))), 1)
    assert thread_moves(seen) == (ThreadMoves(1, 2, 20),)


def test_a_transfer_fills_its_segments_and_a_heartbeat_does_not() -> None:
    (full,) = socket_moves(None, rows((0, 0, 0, 0), (3_000, 3, 0, 0), (9_000, 8, 0, 0)), (8,))
    assert (full.received_in, full.received_bytes, full.full) == (2, 9_000, True)
    (beat,) = socket_moves(None, rows((0, 0, 0, 0), (40, 1, 0, 0), (80, 2, 0, 0)), (8,))
    assert (beat.received_in, beat.full) == (2, False)


def test_a_reader_that_takes_a_little_of_what_lies_there() -> None:
    (taken,) = socket_moves(None, rows((9_000, 9, 9_000, 0), (9_000, 9, 8_000, 0), (9_000, 9, 8_000, 0)), (8,))
    assert (taken.taken_in, taken.received_in, taken.always_unsent) == (1, 0, False)


def test_what_moved_since_the_last_watch_is_a_window() -> None:
    before, *now = rows((0, 0, 0, 5), (70, 1, 0, 5), (70, 1, 0, 5))
    (moved,) = socket_moves(before, now, (8,))
    assert (moved.received_in, moved.received_bytes, moved.always_unsent) == (1, 0, True)
    other = Moment(0.0, {}, {8: replace(ROW, remote="127.0.0.1:9", received_bytes=1)})
    assert socket_moves(other, now, (8,))[0].received_in == 0, "its inode belonged to another connection"


def test_more_windows_are_watched_where_something_may_live() -> None:
    assert is_doubtful(watched(1, waits(1, at_tcp(8)), sockets=(tcp(8, received_in=1),)))
    assert is_doubtful(watched(1, waits(1, at_tcp(8)), sockets=(tcp(8, always_unsent=True),)))
    assert is_doubtful(watched(1, waits(1, kind="read"), moves=(ThreadMoves(1, 1, 5),)))
    assert not is_doubtful(watched(1, waits(1, at_tcp(8)), sockets=(tcp(8, received_in=3), tcp(9, received_in=1))))


def test_a_queue_is_watched_until_it_was_seen_to_shrink() -> None:
    def queued(*ends: OtherEnd, **moved: object) -> bool:
        return is_queued(watched(1, waits(1, *ends, kind="poll"), sockets=(tcp(8, queued=True, **moved),)), ())

    assert queued(at_tcp(8))
    assert queued(at_tcp(8), acked_in=4), "a heartbeat that the kernel acknowledged, behind which nothing waits"
    assert not queued(at_tcp(8), acked_in=1, always_unsent=True)
    assert not queued(at_tcp(8), far_taken_in=1)
    assert queued(at_tcp(8), at_tcp(9), far_taken_in=1), "beside others, one may be a rest"
    assert not is_queued(watched(1, waits(1, at_tcp(8)), sockets=(tcp(8),)), ())
    to_a_member = watched(1, waits(1, at_tcp(8)), sockets=(tcp(8, queued=True),))
    assert not is_queued(to_a_member, {"127.0.0.1:2"})


def test_what_the_other_end_takes_whichever_of_its_threads_does() -> None:
    def at(moment: float, unread: int, sent: int) -> Moment:
        far = replace(ROW, inode=9, unread_bytes=unread, received_bytes=sent)
        return Moment(moment, {}, {8: replace(ROW, acked_bytes=sent, unacked_bytes=0)}, {8: far})

    (moves,) = socket_moves(None, [at(0.0, 9_000, 9_000), at(0.7, 800, 9_000), at(1.4, 800, 9_000)], (8,))
    assert (moves.far_taken_in, moves.acked_in, moves.queued) == (1, 0, True)
    (beats,) = socket_moves(None, [at(0.0, 5, 5), at(0.7, 6, 6), at(1.4, 7, 7)], (8,))
    assert (beats.far_taken_in, beats.acked_in, windows_sent(beats)) == (0, 2, 0), "they pile up, and nobody takes them"


def test_a_unix_socket_tells_what_lies_unread() -> None:
    def at(moment: float, unread: int) -> Moment:
        own, far = UnixSocket(8, "established", peer=9), UnixSocket(9, "established", 8, "/run/s", unread_bytes=unread)
        return Moment(moment, {}, unix={8: own, 9: far})

    assert unix_moves([at(0.0, 900), at(0.7, 300), at(1.4, 300)], (8,)) == (UnixMoves(8, "/run/s", 1, 300),)
    assert unix_moves([at(0.0, 9), at(0.7, 0)], (8,)) == (UnixMoves(8, "/run/s", 0, 0),), "all at once: a question that is read"


def test_windows_in_which_a_thread_was_woken_where_it_stood() -> None:
    write, poll = BlockedCall(1, 1, "S", "write", "write"), BlockedCall(1, 1, "S", "poll", "poll")
    seen = [Sample("S", 7, 0, call, wakes=wakes) for call, wakes in ((write, 5), (write, 6), (write, 6), (poll, 9))]
    assert woken_in(samples_of(moments(*seen), 1)) == 1


def test_threads_that_wait_alike_are_told_once() -> None:
    pool = tuple(waits(1, kind="sleep", tid=tid) for tid in range(2, 60))
    told = unlike((waits(1, kind="sleep"), *pool, waits(1, at_tcp(8, 9), tid=99)))
    assert [thread.call.tid for thread in told] == [1, 2, 99]
