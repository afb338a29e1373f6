"""Rank 2 waits for a thread of its own, the others for rank 2: does that thread go on?"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.log import Pace
from hangtop.records.stack import Excerpt, Frame, Loop, Thread
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import OtherEnd, ThreadWait, WaitObject
from hangtop.records.watched_waits import ThreadMoves, WatchedProcess
from tests.fakes.members import NOW, SPEC, THREADING, USER, four, thread
from tests.fakes.waited import OUTSIDE, waits, watch, watched

EVENT = thread(Frame("Event.wait", THREADING, 629), Frame("step", USER, 11))
HELPER = Thread("judge", (Frame("judge", USER, 40),), 999, state="S", wait="sleep")


def said(
    helper: ThreadWait,
    *others: WatchedProcess,
    loop: Loop | None = "none",
    silence_s: float = 200.0,
    beats: bool = False,
    main: ThreadWait | None = None,
) -> Verdict:
    """`loop`: what the source around the line of the thread says. `main`: where the first thread waits, else for an event."""
    state = four(EVENT if main is None else thread(Frame("step", USER, 11), wait="poll"), silence_s=silence_s)
    excerpts = () if loop is None else (Excerpt(USER, 38, ("", "", "time.sleep(pause)"), at=40, loop=loop),)
    looks = tuple(
        replace(
            look,
            excerpts=excerpts,
            stacks=tuple(
                replace(stack, threads=(*stack.threads, HELPER)) if stack.pid == 102 else stack for stack in look.stacks
            ),
        )
        for look in state.looks
    )
    own = watched(102, main or waits(102, kind="futex"), helper, moves=(ThreadMoves(999, 1, 60),))
    assert state.log is not None
    if beats:
        log = replace(
            state.log,
            news_at=NOW - silence_s,
            last_output_at=NOW - 1,
            repeats="alive, up 9 s",
            beat_s=3.0,
            pace=Pace(20, 1.0, 2.0),
        )
        state = replace(state, log=log)
    return diagnose(replace(state, looks=looks, waits=watch(own, *others, at=NOW - 10)), SPEC, NOW)


def asleep(rest_s: float) -> ThreadWait:
    found = waits(102, kind="sleep", tid=999)
    return replace(found, call=replace(found.call, rest_s=rest_s, rest_exact=True))


@pytest.mark.parametrize(
    ("loop", "word"),
    [("none", "slow"), ("ends", "slow"), ("takes", "slow"), ("rounds", "hung"), ("asks", "hung"), (None, "hung")],
)
def test_a_thread_that_sleeps_in_a_loop_that_ends_or_takes_work_may_wake_the_others(loop: Loop | None, word: str) -> None:
    told = said(asleep(50.0), loop=loop)
    assert (told.word, told.at_work) == (word, (2,) if word == "slow" else ())
    assert said(asleep(0.3), loop=loop).word == word, "it sleeps for moments, and goes on"


def test_a_pipe_of_which_only_its_own_threads_have_an_end_is_filled_by_one_of_them() -> None:
    def at(*pids: int) -> ThreadWait:
        return waits(102, OtherEnd(WaitObject("pipe", reads=True, inode=4), pids), kind="poll")

    assert said(asleep(0.3), loop="ends", main=at(102)).word == "slow"
    assert said(asleep(0.3), loop="asks", main=at(102)).word == "hung"
    assert said(asleep(0.3), loop="ends", main=at(102, OUTSIDE)).word == "hung", "another process may have to fill it"


def test_a_sleep_explains_silence_for_no_longer_than_a_run_may_rest() -> None:
    assert said(asleep(5_000.0)).word == "hung"
    assert said(asleep(0.3), silence_s=2_000.0).word == "hung"
    assert said(asleep(0.3), loop="ends", beats=True).word == "hung", "it may be what prints that it lives"


def test_a_thread_that_waits_for_a_program_lives_as_long_as_that_works() -> None:
    at_child = waits(102, OtherEnd(WaitObject("child"), (OUTSIDE,)), kind="child", tid=999)
    child = watched(OUTSIDE, waits(OUTSIDE, kind="futex"))
    assert said(at_child, replace(child, busy_in=4)).word == "slow"
    assert said(at_child, child).word == "hung"
