"""A process that is stopped while another job of its parent works: it may be let go on soon, or never."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import ThreadWait
from hangtop.records.watched_waits import WatchedProcess
from tests.fakes.members import NOW, SPEC, process, run
from tests.fakes.waited import waits, watch, watched

OWN, PARENT, OTHER, AT = 100, 99, 98, NOW - 10
STOPPED = watched(OWN, ppid=PARENT, state="T")
WORKS = watched(OTHER, waits(OTHER, kind="sleep"), ppid=PARENT, woken_in=4)


def asleep(rest_s: float) -> ThreadWait:
    thread = waits(PARENT, kind="sleep")
    return replace(thread, call=replace(thread.call, rest_s=rest_s, rest_exact=True))


SLEEPS = watched(PARENT, asleep(50))


def said(parent: WatchedProcess = SLEEPS, other: WatchedProcess = WORKS, *, beside: tuple[int, ...] = (OTHER,)) -> Verdict:
    lone = replace(process(0, state="T"), role="other", rank=None, world=None)
    looked = replace(watch(STOPPED, parent, other, at=AT, asked=(OWN,)), beside=beside)
    return diagnose(run({}, (lone,), silence_s=14.0, waits=looked), replace(SPEC, stall_s=8.0), NOW)


def test_a_job_whose_turn_comes_when_its_parent_wakes_is_alive() -> None:
    verdict = said()
    assert verdict.word == "slow"
    assert f"`tool{OTHER} --x` (pid {OTHER}, alice) works: their parent sleeps until" in verdict.headline


@pytest.mark.parametrize(
    ("parent", "other"),
    [
        (watched(PARENT, waits(PARENT, kind="child")), WORKS),
        (watched(PARENT, asleep(40_000)), WORKS),
        (watched(PARENT, asleep(1)), WORKS),
        (SLEEPS, replace(WORKS, state="T")),
        (SLEEPS, replace(WORKS, woken_in=0)),
        (SLEEPS, replace(WORKS, ppid=1)),
    ],
    ids=["the parent waits for it", "for hours", "it polls", "both are stopped", "the other stands", "of another parent"],
)
def test_without_a_turn_what_is_stopped_hangs(parent: WatchedProcess, other: WatchedProcess) -> None:
    assert (said(parent, other).word, said(parent, other).kind) == ("hung", "stopped")


def test_a_part_of_the_run_that_works_is_no_other_job() -> None:
    assert said(beside=()).word == "hung"


def test_a_rank_that_is_stopped_holds_the_others_up_whoever_works_beside_it() -> None:
    looked = replace(watch(STOPPED, SLEEPS, WORKS, at=AT, asked=(OWN,)), beside=(OTHER,))
    state = run({}, (process(0, state="T"),), silence_s=14.0, waits=looked)
    assert diagnose(state, replace(SPEC, stall_s=8.0), NOW).word == "hung"
