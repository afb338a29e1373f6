"""Threads that only ask the kernel whether something has come take a core, and are no work."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.probe.waits.pollers import Polling, Spent, polled
from hangtop.probe.waits.samples import Moment, Sample
from hangtop.probe.waits.windows import busy_in, samples_of
from hangtop.records.process import RecentActivity
from hangtop.records.stack import Stack
from hangtop.records.watched_waits import WatchedProcess
from hangtop.state.run_state import RunState
from tests.fakes.members import LOCK, NOW, SPEC, four, process, thread
from tests.fakes.waited import waits, watch, watched

HALF_A_CORE = RecentActivity(seconds=10, samples=10, running_part=0.0, cpu_percent=50.0, io_b_s=0.0, switches_s=0.0)
BEFORE = Spent(10, 90, 5, 3, 8)


@pytest.mark.parametrize(
    ("more", "polls"),
    [
        ({"user_ticks": 30, "system_ticks": 170}, True),
        ({"user_ticks": 110}, False),  # it computes
        ({"user_ticks": 11, "system_ticks": 92}, False),  # too little to tell
        ({"system_ticks": 190, "faults": 6}, False),  # it loads or maps what it works on
        ({"system_ticks": 190, "bytes": 9}, False),
        ({"system_ticks": 190, "sleeps": 4}, False),
    ],
)
def test_a_thread_that_only_polls_is_told_by_its_counters(more: dict[str, Any], polls: bool) -> None:
    assert polled({7: BEFORE}, {7: replace(BEFORE, **more)}).tids == ((7,) if polls else ())


def test_only_threads_of_both_looks_count() -> None:
    assert polled({7: BEFORE}, {8: BEFORE}) == Polling((), 0)


def test_windows_are_not_busy_by_it() -> None:
    moments = [Moment(float(at), {1: Sample("S", 7, 50 * at)}) for at in range(4)]
    assert busy_in(samples_of(moments, 1), 100) == 3
    assert busy_in(samples_of(moments, 1), 100, polled_s=1.4) == 0


def lock_with(**more: Any) -> RunState:
    """Three ranks wait for rank 2, which stands in a lock and takes half a core."""
    own: WatchedProcess = watched(102, waits(102, kind="futex"), cpu_s=1.4, **more)
    return replace(four(LOCK, process(2, HALF_A_CORE)), waits=watch(own, at=NOW - 10))


def test_a_rank_that_is_busy_with_nothing_else_is_not_at_work() -> None:
    assert diagnose(lock_with(), SPEC, NOW).word == "slow"
    said = diagnose(lock_with(polls=(4_000,), polled_s=1.4), SPEC, NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("hung", [2])


def test_what_it_takes_besides_is_work() -> None:
    assert diagnose(lock_with(polls=(4_000,), polled_s=0.7), SPEC, NOW).word == "slow"


def test_a_thread_of_the_program_itself_is_judged_by_its_stack() -> None:
    state = lock_with(polls=(4_000,), polled_s=1.4)
    ours = replace(thread(LOCK.frames[0], state="R"), name="Reader", tid=4_000)
    looks = tuple(replace(look, stacks=(*look.stacks, Stack(102, NOW, (ours,), started_ticks=7))) for look in state.looks)
    assert diagnose(replace(state, looks=looks), SPEC, NOW).word == "slow"
