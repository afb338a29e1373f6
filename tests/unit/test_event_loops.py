"""Members in an event loop of asyncio: what the number of moments that it has set itself tells."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.log import Pace
from hangtop.records.process import RecentActivity
from hangtop.records.stack import Excerpt, Frame, Loop, Thread
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import BlockedCall, OtherEnd, ThreadWait, WaitObject
from hangtop.records.watched_waits import SocketMoves, WatchedProcess
from tests.fakes.members import NOW, SPEC, USER, process, run
from tests.fakes.waited import OUTSIDE, at_tcp, tcp, waits, watch, watched

BASE = "/usr/lib/python3.11/asyncio/base_events.py"
FRAMES = (Frame("select", "/usr/lib/python3.11/selectors.py", 468), Frame("_run_once", BASE, 1884), Frame("main", USER, 90))
WAKER = OtherEnd(WaitObject("eventfd", reads=True), known=False)
WAKES = RecentActivity(seconds=10, samples=10, running_part=0.0, cpu_percent=0.0, io_b_s=0.0, switches_s=0.2)


def said_of(
    timers: int | None,
    *ends: OtherEnd,
    woken_in: int = 2,
    rest_s: float = 3.0,
    in_course: bool = True,
    paced: bool = True,
    other: WatchedProcess | None = None,
) -> Verdict:
    """A process alone, in its event loop since 130 s; a line that tells nothing new comes every 5 s."""
    loop = Thread("MainThread", FRAMES, 100, state="S", wait="poll", timers=timers)
    state = run({0: loop}, (replace(process(0, WAKES), rank=None, world=None, role="other"),), silence_s=130)
    call = BlockedCall(100, 100, "S", "poll", "epoll_wait", timed=True, rest_s=rest_s, rest_exact=rest_s > 10)
    own = watched(100, ThreadWait(call, (WAKER, *ends)), woken_in=woken_in)
    assert state.log is not None
    told = replace(state.log, news_at=NOW - 130, clockwork_since=NOW - 130, repeats="monitor tasks=3", beat_s=5.0)
    told = replace(told, last_output_at=NOW - 2, beats_in_course=in_course, pace=Pace(20, 1.0, 2.0) if paced else Pace())
    other = other or watched(OUTSIDE, waits(OUTSIDE))
    return diagnose(replace(state, ranks={}, log=told, waits=watch(own, other, at=NOW - 10)), SPEC, NOW)


def test_where_the_only_clock_is_that_of_the_monitor_all_other_tasks_wait_for_each_other() -> None:
    said = said_of(1)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [100])
    assert said_of(1, paced=False).word == "hung", "a log without times tells no pace"


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"timers": 2}, id="another task rests until a moment of its own"),
        pytest.param({"timers": None}, id="how many could not be read"),
        pytest.param({"timers": 1, "in_course": False}, id="the lines came only when it fell silent: it may wait by them"),
    ],
)
def test_what_may_go_on_is_not_called_hung(more: dict[str, int | None]) -> None:
    assert said_of(**more).word in ("slow", "running")  # type: ignore[arg-type]


def test_a_task_that_waits_for_somebody_outside_may_get_its_answer() -> None:
    assert said_of(1, at_tcp(8, OUTSIDE)).word in ("slow", "running")
    door = OtherEnd(WaitObject("tcp", reads=True, inode=3, local="127.0.0.1:2", tcp_state="listen"), known=False)
    serves = watched(OUTSIDE, waits(OUTSIDE, door, kind="poll"), listens=("2",))
    assert said_of(1, at_tcp(8, OUTSIDE), other=serves).word == "hung", "a server that waits to be asked owes nothing"
    assert said_of(1, at_tcp(8, OUTSIDE), other=replace(serves, busy_in=4)).word in ("slow", "running")


@pytest.mark.parametrize("hub", [pytest.param(0, id="a member"), pytest.param(4, id="the process that started them")])
def test_of_loops_that_all_wait_at_one_process_the_one_is_named_that_sent_one_message_less(hub: int) -> None:
    loop = Thread("MainThread", (*FRAMES[:2], Frame("rank", USER, 40)), None, state="S", wait="poll", timers=0)
    gathers = Thread("MainThread", (*FRAMES[:2], Frame("gather", USER, 70)), None, state="S", wait="poll", timers=0)
    ranks = [rank for rank in range(4) if rank != hub]
    processes = tuple(
        process(rank, ppid=104 if hub == 4 else 99, world=len(ranks) if hub == 4 else 4) for rank in (*ranks, hub)[:4]
    )
    top = (replace(process(4), rank=None, world=None, role="other", ppid=1),) if hub == 4 else ()
    shown = {**dict.fromkeys(ranks, loop), hub: gathers}
    at = [at_tcp(8 + rank, 100 + rank) for rank in ranks]
    counted = (replace(tcp(8 + rank).last, segments_in=20 if rank == 2 else 21) for rank in ranks)
    own = watched(100 + hub, waits(100 + hub, *at, kind="poll"), sockets=tuple(SocketMoves(row) for row in counted))
    ends = (watched(100 + rank, waits(100 + rank, at_tcp(30 + rank, 100 + hub), kind="poll")) for rank in ranks)
    state = replace(run(shown, (*top, *processes)), waits=watch(own, *ends, at=NOW - 10))
    assert [culprit.rank for culprit in diagnose(state, SPEC, NOW).culprits] == [2]


def paced(*awaits: Loop, rest_s: float = 0.3, since_s: float = 130) -> str:
    """What is said of one that writes nothing, in an event loop with one moment set, whose file awaits sleeps in such loops."""
    loop = Thread("MainThread", FRAMES, 100, state="S", wait="poll", timers=1)
    state = run({0: loop}, (replace(process(0, WAKES), rank=None, world=None, role="other"),), silence_s=since_s)
    call = BlockedCall(100, 100, "S", "poll", "epoll_wait", timed=True, rest_s=rest_s)
    source = Excerpt(USER, 90, ("asyncio.run(main())",), at=90, loop="none", awaits=awaits)
    looks = tuple(replace(look, excerpts=(source,)) for look in state.looks)
    own = watched(100, ThreadWait(call, (WAKER,)), woken_in=3)
    return diagnose(replace(state, ranks={}, looks=looks, waits=watch(own, at=NOW - 10)), SPEC, NOW).word


def test_a_loop_whose_only_sleeps_are_counted_paces_its_steps_and_one_that_looks_again_may_do_so_in_vain() -> None:
    assert paced("ends") == "slow"
    assert [paced("ends", "asks"), paced("asks"), paced("none"), paced()] == ["hung"] * 4
    assert paced("ends", since_s=2_000) == "hung", "longer than a run may rest on purpose"


def test_a_clock_that_is_set_ends_the_silence_whoever_else_is_waited_for() -> None:
    said = said_of(1, at_tcp(8, OUTSIDE), woken_in=0, rest_s=60.0)
    assert said.word == "slow"
    assert "until" in said.headline
