"""A pool of multiprocessing whose thread that takes results has ended: nobody wakes who waits for them."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.stack import Frame, Thread
from hangtop.records.verdict import Verdict
from tests.fakes.members import BUSY, NOW, SPEC, THREADING, USER, process, run

POOL = "/usr/lib/python3.11/multiprocessing/pool.py"
WAITS = Thread(
    "MainThread",
    (Frame("Event.wait", THREADING, 629), Frame("ApplyResult.get", POOL, 768), Frame("main", USER, 57)),
    100,
    state="S",
    wait="lock",
)


def keeps(function: str, tid: int, *, runs: bool = False) -> Thread:
    return Thread(
        function, (Frame(f"Pool.{function}", POOL, 519),), tid, state="R" if runs else "S", wait=None if runs else "lock"
    )


WORKERS, TASKS, RESULTS = keeps("_handle_workers", 101, runs=True), keeps("_handle_tasks", 102), keeps("_handle_results", 103)


def said(*threads: Thread) -> Verdict:
    """Its other thread spins at what lies unread."""
    alone = replace(process(0, BUSY), rank=None, world=None, role="other")
    state = run({0: WAITS}, (alone,))
    looks = tuple(replace(look, stacks=tuple(replace(stack, threads=threads) for stack in look.stacks)) for look in state.looks)
    return diagnose(replace(state, looks=looks, ranks={}), SPEC, NOW)


def test_who_waits_for_results_that_no_thread_takes_hangs_whatever_spins_beside_it() -> None:
    told = said(WAITS, WORKERS, TASKS)
    assert told.word == "hung"
    assert "the thread that takes these has ended" in told.headline


def test_as_long_as_a_thread_takes_results_the_pool_may_work() -> None:
    assert said(WAITS, WORKERS, TASKS, RESULTS).word == "slow"
    assert said(WAITS, WORKERS).word == "hung", "it is gone here too"
    assert said(replace(WAITS, frames=WAITS.frames[2:]), WORKERS, TASKS).word != "hung", "it does not wait for results"
