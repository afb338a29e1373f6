"""A sleep whose end the kernel knows: how long it lasts, and what is said of a rank in it."""

from __future__ import annotations

import struct
import time

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.long_sleeps import sleep_of
from hangtop.diagnosis.facts.wait_moves import watch_of
from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.diagnosis.status import by_waits
from hangtop.records.stack import Excerpt, Frame, Loop, Thread
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import OtherEnd, ThreadWait, WaitObject
from hangtop.records.watched_waits import WatchedProcess
from hangtop.system.waits.call_limits import rest_of
from hangtop.system.waits.calls import parse_call
from tests.fakes.members import IDLE, LOCK, NOW, SPEC, THREADING, USER, four, process, run, thread
from tests.fakes.waited import OUTSIDE, at_lock, at_tcp, waits, watch, watched

SLEEP, RELATIVE, POLL, EPOLL = 230, 35, 7, 232
MOMENT = "0x1"
"""TIMER_ABSTIME."""
WAKER = OtherEnd(WaitObject("eventfd", reads=True), known=False)
AT = NOW - 10


def rest(number: int, *arguments: str, limit: tuple[int, int] | None = None) -> tuple[float | None, bool]:
    words = [*arguments, *["0x0"] * (6 - len(arguments))]
    call = parse_call(f"{number} {' '.join(words)} 0x7 0x8", "x86_64")
    assert call is not None
    return rest_of(call, lambda address, size: None if limit is None else struct.pack("=qq", *limit))


def test_a_sleep_until_a_moment_of_a_clock_is_exact() -> None:
    moment = int(time.clock_gettime(time.CLOCK_MONOTONIC)) + 100
    left, exact = rest(SLEEP, "0x1", MOMENT, "0x5", limit=(moment, 0))
    assert left == pytest.approx(100, abs=5)
    assert exact
    assert rest(SLEEP, "0x1", MOMENT, "0x5", limit=(1, 0)) == (0.0, True), "it is over"


def test_a_limit_from_the_start_of_the_call_is_told_whole() -> None:
    assert rest(RELATIVE, "0x5", limit=(30, 500_000_000)) == (30.5, False)
    assert rest(SLEEP, "0x1", "0x0", "0x5", limit=(30, 0)) == (30.0, False)
    assert rest(EPOLL, "0x3", "0x5", "0x1", "0x7530") == (30.0, False)


def test_without_a_limit_or_the_right_to_read_it_nothing_is_told() -> None:
    assert rest(POLL, "0x5", "0x1", "0xffffffff") == (None, False)
    assert rest(RELATIVE, "0x5") == (None, False)
    assert rest(202, "0x5", "0x0", "0x0", "0x9", limit=(3, 0)) == (None, False), "of a futex it depends on the operation"


def asleep(rest_s: float, *ends: OtherEnd, pid: int = 102, kind: str = "sleep", exact: bool = True) -> ThreadWait:
    thread = waits(pid, *ends, kind=kind)  # type: ignore[arg-type]
    return replace(thread, call=replace(thread.call, rest_s=rest_s, rest_exact=exact))


def until(thread: ThreadWait, silence_s: float = 10.0, **more: object) -> float | None:
    own = watched(102, thread, **more)
    found = sleep_of(watch_of(watch(own, at=AT), AT - silence_s, 60.0), own, own.threads[0])
    return None if found is None else found.until - AT


def test_only_a_sleep_that_outlasts_the_watch_is_one() -> None:
    assert until(asleep(40)) == 40
    assert until(asleep(2)) is None
    assert until(waits(102, kind="sleep")) is None
    assert until(asleep(40, kind="futex")) is None


def test_of_a_length_alone_the_thread_must_have_slept_through_and_the_silence_be_shorter() -> None:
    assert until(asleep(40, exact=False)) == 40
    assert until(asleep(40, exact=False), woken_in=1) is None
    assert until(asleep(40, exact=False), silence_s=50.0) is None, "one of many"


def test_an_event_loop_that_waits_for_its_clock_alone_sleeps() -> None:
    assert until(asleep(40, WAKER, kind="poll", exact=False)) == 40
    assert until(asleep(40, WAKER, at_tcp(8), kind="poll", exact=False)) is None


def said(own: WatchedProcess, *others: WatchedProcess) -> Verdict:
    return diagnose(replace(four(LOCK), waits=watch(own, *others, at=AT)), SPEC, NOW)


def test_a_rank_that_wakes_by_itself_is_slow_until_then() -> None:
    verdict = said(watched(102, asleep(60)))
    assert (verdict.word, verdict.at_work) == ("slow", (2,))
    assert " until " in verdict.headline


SLEEPER = thread(Frame("upload", USER, 40), wait="sleep")


@pytest.mark.parametrize(
    ("loop", "rest_s", "exact", "woken_in", "word"),
    [
        ("ends", 0.5, True, 1, "slow"),
        ("ends", 0.5, True, 0, "slow"),
        ("ends", 20.0, False, 0, "slow"),
        ("ends", 40_000.0, True, 0, "hung"),
        ("asks", 0.5, True, 1, "hung"),
        ("ends", None, False, 1, "hung"),
    ],
)
def test_a_rest_that_ended_in_the_watch_was_one_of_many_where_its_loop_ends_by_itself(
    loop: Loop, rest_s: float | None, exact: bool, woken_in: int, word: str
) -> None:
    state = four(SLEEPER)
    source = Excerpt(USER, 39, ("for part in parts:", "    time.sleep(20)"), at=40, loop=loop)
    looks = tuple(replace(look, excerpts=(source,)) for look in state.looks)
    sleeps = asleep(rest_s, exact=exact) if rest_s is not None else waits(102, kind="sleep")
    own = watched(102, sleeps, woken_in=woken_in)
    assert diagnose(replace(state, looks=looks, waits=watch(own, at=AT)), SPEC, NOW).word == word


def test_rests_in_rounds_are_no_pause_that_is_over_when_the_silence_is_long() -> None:
    state = four(SLEEPER, silence_s=5_000.0)
    source = Excerpt(USER, 39, ("for part in parts:", "    time.sleep(20)"), at=40, loop="ends")
    looks = tuple(replace(look, excerpts=(source,)) for look in state.looks)
    assert diagnose(replace(state, looks=looks, waits=watch(watched(102, asleep(15)), at=AT)), SPEC, NOW).word == "slow"
    assert diagnose(replace(state, waits=watch(watched(102, asleep(15)), at=AT)), SPEC, NOW).word == "hung"


@pytest.mark.parametrize(("loop", "word"), [("ends", "slow"), ("asks", "hung")])
def test_who_woke_before_and_sleeps_again_looks_for_something_unless_its_loop_ends_by_itself(loop: Loop, word: str) -> None:
    state = four(SLEEPER, process(2, replace(IDLE, switches_s=0.1)))
    source = Excerpt(USER, 39, ("for part in parts:", "    time.sleep(7)"), at=40, loop=loop)
    looks = tuple(replace(look, excerpts=(source,)) for look in state.looks)
    assert diagnose(replace(state, looks=looks, waits=watch(watched(102, asleep(5)), at=AT)), SPEC, NOW).word == word


def test_who_sleeps_in_a_loop_that_nothing_leaves_never_comes_back_unless_another_thread_of_it_may() -> None:
    state = four(SLEEPER)
    source = Excerpt(USER, 39, ("while rank == 2 and step == 47:", "    time.sleep(30)"), at=40, loop="beats")
    looks = tuple(replace(look, excerpts=(source,)) for look in state.looks)
    helper = ThreadWait(replace(asleep(20).call, tid=902))

    def told(*threads: ThreadWait) -> str:
        threads = tuple(replace(each, call=replace(each.call, tid=902)) for each in threads)
        own = watched(102, asleep(30))
        return diagnose(
            replace(state, looks=looks, waits=watch(replace(own, threads=(*own.threads, *threads)), at=AT)), SPEC, NOW
        ).word

    assert told() == "hung"
    assert told(helper) == "slow", "it sleeps, too, and what it does then nothing tells"
    listener = OtherEnd(WaitObject("tcp", local="127.0.0.1:9", remote="0.0.0.0:0"), known=False)
    elsewhere = OtherEnd(WaitObject("tcp", local="127.0.0.1:9", remote="10.0.0.2:80"), known=False, elsewhere=True)
    assert told(waits(102, listener, kind="poll")) == "hung", "who may yet connect owes it nothing"
    assert told(waits(102, elsewhere, kind="poll")) == "slow", "an answer may be on its way"
    assert told(waits(102, elsewhere, kind="receive")) == "slow"


@pytest.mark.parametrize(("rest_s", "switches_s"), [(40_000.0, 0.0), (2.0, 0.5)])
def test_a_main_thread_that_only_keeps_its_threads_lives_as_one_of_them_does(rest_s: float, switches_s: float) -> None:
    state = four(SLEEPER, process(2, replace(IDLE, switches_s=switches_s)))
    source = Excerpt(USER, 39, ("while True:", "    time.sleep(300)"), at=40, loop="beats")
    works = replace(thread(Frame("work", USER, 60), wait="sleep"), name="Thread-1", tid=902)
    helper = ThreadWait(replace(asleep(20).call, tid=902))

    def told(helps: Loop) -> str:
        sources = (source, Excerpt(USER, 59, ("for part in parts:", "    time.sleep(30)"), at=60, loop=helps))
        looks = tuple(
            replace(
                look,
                excerpts=sources,
                stacks=tuple(replace(each, threads=(*each.threads, works)) if each.pid == 102 else each for each in look.stacks),
            )
            for look in state.looks
        )
        own = watched(102, asleep(rest_s))
        seen = watch(replace(own, threads=(*own.threads, helper)), at=AT)
        return diagnose(replace(state, looks=looks, waits=seen), SPEC, NOW).word

    assert [told("ends"), told("beats")] == ["slow", "hung"]


def test_a_program_without_a_stack_that_sleeps_goes_on_by_itself() -> None:
    state = four(LOCK)
    looks = tuple(replace(look, stacks=tuple(each for each in look.stacks if each.pid != 102)) for look in state.looks)
    tool = replace(state, looks=looks, waits=watch(watched(102, asleep(60)), at=AT))
    told = diagnose(tool, SPEC, NOW)
    assert (told.word, told.at_work) == ("slow", (2,))
    assert told.headline.startswith("Rank 2 sleeps until ")
    assert diagnose(replace(tool, waits=watch(watched(102, waits(102, kind="sleep")), at=AT)), SPEC, NOW).word == "hung"


def test_the_sleep_of_a_shell_wakes_nobody_who_waits_for_a_thread_of_its_own() -> None:
    """A probe of the pod sleeps between two of its lines; what a script does after its sleep may be what another looks for."""
    shell = replace(process(9), pid=50, ppid=1, rank=None, world=None, role="other", name="bash", command="bash pod.sh")
    alone = replace(process(0), ppid=50, rank=None, world=None, role="other")
    sleep = replace(alone, pid=60, name="sleep", command="sleep 60")

    def beside(stands: Thread) -> str:
        state = run({0: stands}, (shell, alone, sleep))
        watched_sleep = watched(60, asleep(60, pid=60))
        return diagnose(replace(state, ranks={}, waits=watch(watched(100, waits(100)), watched_sleep, at=AT)), SPEC, NOW).word

    assert beside(thread(Frame("Event.wait", THREADING, 629), Frame("step", USER, 11))) == "hung"
    assert beside(thread(Frame("look", USER, 71), wait="socket")) == "slow"


def test_a_program_that_only_a_signal_wakes_is_named_where_it_has_what_another_waits_for() -> None:
    alone = replace(process(0), ppid=50, rank=None, world=None, role="other")
    keeper = replace(alone, pid=60, name="sleep", command="sleep infinity")
    state = replace(run({0: LOCK}, (alone, keeper)), ranks={})

    def told(*ends: OtherEnd) -> Verdict:
        both = watch(watched(100, waits(100, *ends)), watched(60, waits(60, kind="signal")), at=AT)
        return diagnose(replace(state, waits=both), SPEC, NOW)

    assert (told(at_lock(60)).word, [each.pid for each in told(at_lock(60)).culprits]) == ("hung", [60])
    assert [each.pid for each in told().culprits] != [60], "it may only keep a pod alive"


def test_a_rank_that_sleeps_for_hours_is_blamed_with_the_end_of_its_sleep() -> None:
    verdict = said(watched(102, asleep(40_000)))
    assert (verdict.word, [culprit.rank for culprit in verdict.culprits]) == ("hung", [2])
    assert " until " in verdict.culprits[0].why[0]


def test_a_holder_that_stands_in_for_work_by_sleeping_works() -> None:
    verdict = said(watched(102, waits(102, at_lock(OUTSIDE))), watched(OUTSIDE, asleep(60, pid=OUTSIDE)))
    assert verdict.word == "slow"
    assert "which sleeps until" in verdict.headline


def test_a_server_that_sleeps_beside_other_threads_proves_nothing() -> None:
    server = watched(OUTSIDE, asleep(60, pid=OUTSIDE), waits(OUTSIDE, kind="futex", tid=OUTSIDE + 1))
    assert said(watched(102, waits(102, at_lock(OUTSIDE))), server).word == "hung"


def test_of_threads_that_sleep_alike_one_was_watched_for_all() -> None:
    """The stack that tells is another thread's."""
    other = replace(asleep(60), call=replace(asleep(60).call, tid=999))
    joins = waits(102, kind="futex")
    assert said(watched(102, joins, other)).word == "hung", "its stack shows no sleep"
    member = next(each for each in take_snapshot(four(LOCK), SPEC, NOW).members if each.rank == 2)
    assert member.activity is not None
    thread = replace(member.activity.thread, tid=1_000)
    sleeps = replace(member, activity=replace(member.activity, kind="sleep", thread=thread))
    found = by_waits.watched(watch_of(watch(watched(102, joins, other), at=AT)), sleeps)
    assert found is not None
    assert found[1].call.tid == 999
