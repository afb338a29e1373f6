"""A demo run that really hangs is stopped, or started again, by hangtop itself; another hangtop that looks later knows of it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.actions.execute.executor import execute
from hangtop.actions.plans import restart_plan, stop_plan
from hangtop.cli.commands.check import verdict_once
from hangtop.demo.demo_run import DemoRun
from hangtop.demo.scenario import scenario
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.monitor.headless import looks
from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.launch_source import LaunchSource
from hangtop.records.launch import LaunchReading
from hangtop.records.plan import OwnProcess, Plan, Step, Watch
from hangtop.records.stopped import RunPlace, StoppedRun
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from hangtop.system.processes.linux import read_stat
from hangtop.system.processes.open_table import open_table
from hangtop.system.stores import stop_store
from hangtop.system.stores.stop_store import StopStore
from tests.fakes.processes import PATIENCE_S, eventually

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[DemoRun]:
    """The default demo, once it hangs."""
    with DemoRun(scenario("hang"), tmp_path) as run:
        last = f"step {run.scenario.step - 1}/"
        eventually(lambda: run.log.read_text().count(last) == run.scenario.world, "the hang")
        yield run


def spec_of(run: DemoRun) -> WatchSpec:
    return WatchSpec(logs=(str(run.log),), stall_s=run.scenario.stall_s)


def state_of(run: DemoRun) -> RunState:
    """What hangtop knows when all ranks and the log are known."""

    async def whole() -> RunState:
        async for state, _ in looks(ProbeFeed(spec_of(run)), PATIENCE_S):
            members = state.procs.processes if state.procs is not None else ()
            if state.log is not None and state.log.progress.step is not None and len(members) == run.scenario.world + 1:
                return state
        raise AssertionError("the whole run was not seen")

    return asyncio.run(whole())


def plan_of(run: DemoRun, *, again: bool) -> Plan:
    state = state_of(run)
    me = OwnProcess(os.getpid(), frozenset(), os.geteuid())
    if not again:
        plan = stop_plan.stop_plan(state, me)
    else:
        (told,) = LaunchSource(ProbeContext(spec_of(run))).answer(restart_plan.launch_ask(state, 1), time.time())
        assert isinstance(told, LaunchReading)
        plan = restart_plan.restart_plan(state, told, me, None, (str(run.log),))
    assert isinstance(plan, Plan), plan
    return plan


def said_of(run: DemoRun) -> tuple[str, str]:
    _, verdict = asyncio.run(verdict_once(ProbeFeed(spec_of(run)), spec_of(run), None))
    return verdict.word, verdict.headline


def told(steps: list[Step]) -> str:
    return "\n".join(f"{step.kind}: {step.text}" for step in steps)


def test_a_run_that_was_stopped_is_no_crash_for_whoever_looks_later(hung: DemoRun) -> None:
    steps = list(execute(plan_of(hung, again=False), open_table()))
    assert not {step.kind for step in steps} & {"survived", "failed"}, told(steps)
    word, headline = said_of(hung)
    assert word == "finished"
    assert headline.startswith("Stopped by you at ")
    assert "step 13" in headline


def test_the_demo_that_is_started_again_passes_the_place_and_finishes(hung: DemoRun) -> None:
    place = Watch((str(hung.log),), "train_loop", "training", step=hung.scenario.step - 1, stall_s=60.0, deadline_s=PATIENCE_S)
    steps = list(execute(replace(plan_of(hung, again=True), watch=place), open_table()))
    assert steps[-1].kind == "proof", told(steps)
    assert "it has passed stage training, step 13" in steps[-1].text
    eventually(lambda: hung.log.read_text().count("training finished") == hung.scenario.world, "the finish")
    word, headline = eventually(lambda: said if (said := said_of(hung))[0] == "finished" else None, "the word")
    assert word == "finished"
    assert "It passed step 13, where you stopped it" in headline


def test_a_demo_that_was_started_again_ends_with_the_hangtop_that_began_it(hung: DemoRun) -> None:
    steps = execute(plan_of(hung, again=True), open_table())
    pid = next(step for step in steps if step.text.endswith("runs") and step.kind == "proof").text.split()[1]
    hung.stop()
    eventually(lambda: (stat := read_stat(int(pid))) is None or stat.state in "ZX", "the end of the second attempt")


def test_a_stop_whose_performer_died_in_the_middle_has_stopped_nothing(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    ended = os.fork()
    if ended == 0:
        os._exit(0)
    os.waitpid(ended, 0)
    stop_store.keep(StoppedRun("stop", RunPlace((str(log),)), time.time(), ended, 12345))
    assert StopStore().latest([str(log)]) is None


def test_a_stop_is_known_by_the_log_whatever_name_it_is_called_by(tmp_path: Path) -> None:
    log, link = tmp_path / "train.log", tmp_path / "latest.log"
    log.write_text("step 1\n")
    link.symlink_to(log)
    known = StoppedRun("stop", RunPlace((str(log),)), 1.0, os.getpid(), 0, 2.0, {str(log): 7})
    stop_store.keep(known)
    assert StopStore().latest([str(link)]) == replace(known, sizes={str(link): 7})
    stop_store.forget(known)
    assert StopStore().latest([str(link)]) is None


def test_a_record_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    stop_store.keep(StoppedRun("stop", RunPlace((str(log),)), 1.0, os.getpid(), 0, 2.0))
    store = StopStore()
    assert store.latest([str(log)]) is not None
    (record,) = (tmp_path / "state" / "hangtop" / "runs").glob("*.stopped")
    record.write_text("no JSON")
    os.utime(record, (9, 9))
    assert store.latest([str(log)]) is None
