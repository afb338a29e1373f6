"""Deeds that end processes: when they begin, and when not; and what can be seen of one that was left half done."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from msgspec.structs import replace

from hangtop.actions.execute.client import EXECUTOR
from hangtop.actions.execute.commands import launch
from hangtop.actions.execute.steps import ActionLog, step, tells_of
from hangtop.actions.plans.run_plan import run_plan
from hangtop.cli.commands.guard import _passing_on
from hangtop.common import clock
from hangtop.guard import children, restart_by_command
from hangtop.guard.case import CALLED_OFF, NOT_WRITTEN, Case, Outcome
from hangtop.guard.children import harm
from hangtop.guard.episodes import Course
from hangtop.guard.events import GuardEvent
from hangtop.guard.look_back import look_back
from hangtop.guard.policy import Policy, Restarts
from hangtop.guard.restart_by_command import by_command
from hangtop.records.launch import Launch
from hangtop.records.plan import Plan
from hangtop.records.stopped import AWAITS_GUARD, RunPlace, StoppedRun
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.stores import launch_store, stop_store
from tests.fakes.processes import eventually, running
from tests.fakes.started import end_run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

WAITS = f"echo Stop the run; echo '{AWAITS_GUARD}'; read word && echo $word"
SLEEPS = ("sleep", "600")


@pytest.fixture(autouse=True)
def _state_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


class Begun:
    """What was written down."""

    def __init__(self, *, works: bool = True) -> None:
        self.parts: list[str] = []
        self._works = works

    def __call__(self, course: Course | None) -> bool:
        self.parts.append("" if course is None else course.part)
        return self._works


def end_started(log: str = "train.log") -> None:
    known = launch_store.latest(os.path.realpath(log))
    assert known is not None
    end_run(known)


def case(begins: Callable[[Course | None], bool], **more: object) -> Case:
    event = GuardEvent("", "deed", ("train.log",), "")
    policy = Policy(restart=Restarts(command=SLEEPS))
    made = Case(WatchSpec(logs=("train.log",)), policy, event, clock.now(), os.getcwd(), asyncio.Event(), begins)
    return replace(made, **more)


def says(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(children, "hangtop_command", lambda *_: ("sh", "-c", script))


async def test_a_plan_is_carried_out_once_it_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, WAITS)
    begun = Begun()
    assert await harm("stop", "stop", case(begun)) == Outcome(True, "Stop the run · begin")
    assert begun.parts == [""]


@pytest.mark.parametrize(("code", "went"), [(2, False), (1, False), (0, True)])
async def test_a_refusal_begins_nothing(monkeypatch: pytest.MonkeyPatch, code: int, went: bool) -> None:
    says(monkeypatch, f"echo no process of this run is known; exit {code}")
    begun = Begun()
    outcome = await harm("stop", "stop", case(begun))
    assert outcome == Outcome(went, "no process of this run is known", nothing=not went)
    assert begun.parts == []


async def test_what_is_called_off_in_the_moment_in_which_the_plan_stands_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, WAITS)
    begun = Begun()
    wanted, plan_of = case(begun), children._plan_of

    async def both_at_once(process: asyncio.subprocess.Process) -> tuple[bytes, bool]:
        plan = await plan_of(process)
        wanted.called_off.set()
        return plan

    monkeypatch.setattr(children, "_plan_of", both_at_once)
    assert await harm("stop", "stop", wanted) == CALLED_OFF
    assert begun.parts == []


async def test_what_cannot_be_written_down_or_is_not_wanted_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, WAITS)
    assert await harm("stop", "stop", case(Begun(works=False))) == NOT_WRITTEN
    asked = case(Begun(), unwanted=lambda: "SIGTERM was handed on to it")
    assert (await harm("stop", "stop", asked)).text == "not begun: SIGTERM was handed on to it"


async def test_a_restart_by_command_writes_down_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, WAITS)
    begun = Begun()
    outcome = await by_command(case(begun))
    end_started()
    assert (outcome.went, begun.parts) == (True, ["stops", "stopped", "starts"])


async def test_beside_a_node_that_cannot_be_seen_nothing_is_stopped_or_started(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, "exit 9")
    begun = Begun()
    outcome = await by_command(case(begun, unseen=True))
    assert (outcome.nothing, begun.parts) == (True, [])
    assert "a node that cannot be seen" in outcome.text


async def test_a_run_that_was_asked_to_end_while_it_was_stopped_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, WAITS)
    begun = Begun()
    outcome = await by_command(case(begun, unwanted=lambda: "SIGTERM came" if "stopped" in begun.parts else ""))
    assert (outcome, begun.parts) == (Outcome(False, "not begun: SIGTERM came"), ["stops", "stopped"])


async def test_after_the_stop_a_full_disk_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, WAITS)
    monkeypatch.setattr(restart_by_command, "LOOK_AGAIN_S", 0.0)
    begun = Begun()
    outcome = await by_command(case(lambda course: begun(course) and begun.parts.count("starts") != 1))
    end_started()
    assert (outcome.went, begun.parts.count("starts")) == (True, 2)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course("starts", SLEEPS, str(tmp_path), str(tmp_path / "train.log"), clock.now())


@pytest.fixture
def started(course: Course) -> Iterator[Launch]:
    plan = run_plan(course.words, course.folder, course.log)
    assert plan.start is not None
    yield launch(plan.start)
    end_started(course.log)


def test_where_nothing_has_begun_nothing_is_seen(course: Course) -> None:
    seen = look_back(course)
    assert (seen.busy, seen.stopped, seen.newer, seen.told) == (False, False, None, False)


def test_a_start_is_seen_in_the_store_and_one_that_was_known_is_not_newer(course: Course, started: Launch) -> None:
    seen = look_back(course)
    assert (seen.newer, seen.newer_lives, started.pid in seen.others) == (started.pid, True, True)
    again = look_back(replace(course, known=(started.pid, started.start_ticks)))
    assert (again.newer, started.pid in again.others) == (None, True), "it lives: nothing is started beside it"


def test_who_writes_the_log_and_who_runs_the_command_are_seen(course: Course) -> None:
    with (
        open(course.log, "wb") as log,
        running("sleep", "601", stdout=log) as writer,
        running(*SLEEPS) as other,
    ):
        eventually(lambda: {writer.pid, other.pid} <= {*look_back(course).others}, "both")


@pytest.mark.parametrize("lives", [True, False])
async def test_nothing_is_started_beside_who_writes_the_log(monkeypatch: pytest.MonkeyPatch, course: Course, lives: bool) -> None:
    says(monkeypatch, WAITS)
    with open(course.log, "wb") as log, running("sleep", "601", stdout=log) as writer:
        outcome = await by_command(case(Begun(), lives=lives))
    assert (outcome.went, launch_store.latest(course.log)) == (False, None)
    assert outcome.text == f"not started: pid {writer.pid} still writes to {course.log}"


async def test_nothing_is_started_beside_a_run_that_somebody_started_meanwhile(course: Course, started: Launch) -> None:
    outcome = await by_command(case(Begun(), lives=False))
    assert f"not started: pid {started.pid}" in outcome.text


@pytest.mark.parametrize("log", ["train.log", "other.log"])
def test_an_executor_is_at_work_on_the_run_of_its_plan(course: Course, tmp_path: Path, log: str) -> None:
    plan = Plan("stop", "Stop the run", stops=RunPlace((str(tmp_path / log),)))
    (tmp_path / "plan").write_bytes(msgspec.json.encode(plan))
    with (
        (tmp_path / "plan").open("rb") as told,
        running(
            sys.executable, "-c", "import time; print(flush=True); time.sleep(600)", EXECUTOR, stdin=told, stdout=subprocess.PIPE
        ) as executor,
    ):
        assert executor.stdout is not None
        executor.stdout.readline()
        assert look_back(course).busy == (log == "train.log")


def test_the_proof_of_a_stop_is_seen_if_it_is_of_this_one(course: Course) -> None:
    stop = StoppedRun("stop", RunPlace((course.log,)), clock.now(), os.getpid(), 0, ended_at=clock.now(), by_guard=True)
    stop_store.keep(stop)
    assert look_back(course).stopped
    stop_store.keep(replace(stop, began_at=course.at - 3600))
    assert not look_back(course).stopped
    stop_store.keep(replace(stop, by_guard=False))
    assert not look_back(course).stopped


def test_the_log_of_actions_tells_of_a_start_before_it_is_made(course: Course) -> None:
    plan = run_plan(course.words, course.folder, course.log)
    log = ActionLog()
    assert tells_of(plan.title, 0) is False
    log.write(Plan("stop", "Stop the run"), step("done", "pid 7 ended"))
    assert look_back(course).told is False
    log.write(plan, step("doing", "starting sleep 600"))
    assert look_back(course).told is True
    assert look_back(replace(course, logged_bytes=10**6)).told is None, "it was made anew"


def test_a_request_to_end_that_comes_between_the_stop_and_the_start_is_heard(course: Course, started: Launch) -> None:
    end_run(started)
    watch, request = SimpleNamespace(told_to_end=""), SimpleNamespace(asked=pytest.fail)
    pass_on = _passing_on(WatchSpec(logs=(course.log,)), watch, request)  # type: ignore[arg-type]
    pass_on(signal.SIGUSR1)
    assert watch.told_to_end == ""
    pass_on(signal.SIGTERM)
    assert watch.told_to_end == "SIGTERM came while it did not run"
