"""Several runs on one machine: looked at in turn, chosen by key or mouse."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from hangtop.monitor.look_at_run import RunLook
from hangtop.monitor.told_state import ToldState
from hangtop.records.reading import Reading
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.tui.runs_app import RunRows, RunsApp
from tests.app.play import MemoryFeed

RUN = RunCandidate("/data/a/train.log", 7, 0.0, 0, "python train.py")
RUNS = tuple(replace(RUN, log=f"/data/{name}/train.log") for name in "abc")


class Looks:
    """Answers each look with a verdict on that log, and keeps the order in which it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, log: str) -> RunLook:
        self.asked.append(log)
        return RunLook(ToldState(0.0, (log,), "train.log", "running", f"Runs in {log}."))


def found(*runs: RunCandidate) -> Reading:
    return Reading("runs", "n1", 0.0, RunsReading(runs))


async def chosen(*keys: str, feed: MemoryFeed | None = None) -> tuple[RunsApp, Looks]:
    looks = Looks()
    app = RunsApp(feed or MemoryFeed(), looks, runs=RUNS, now=lambda: 100.0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
    return app, looks


def test_each_run_is_looked_at_once_and_the_chosen_one_is_the_answer() -> None:
    app, looks = asyncio.run(chosen("down", "down", "up", "enter"))
    assert sorted(looks.asked) == [run.log for run in RUNS]
    assert app.return_value == "/data/b/train.log"
    assert app.feed.closed


def test_q_chooses_none() -> None:
    app, _ = asyncio.run(chosen("down", "q"))
    assert app.return_value is None
    assert app.feed.closed


def test_a_run_that_comes_goes_below_and_one_that_goes_does_not_move_the_choice() -> None:
    feed = MemoryFeed([found(replace(RUN, log="/data/new/train.log"), RUNS[1], RUNS[2])])
    app, looks = asyncio.run(chosen(feed=feed))
    assert [run.log for run in app.runs] == [RUNS[1].log, RUNS[2].log, "/data/new/train.log"]
    assert "/data/new/train.log" in looks.asked

    async def moved() -> str:
        app = RunsApp(MemoryFeed(), Looks(), runs=RUNS, now=lambda: 100.0)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("down")
            app.feed.put(found(RUNS[2], RUNS[1]))
            await pilot.pause()
            return app.runs[app.chosen].log

    assert asyncio.run(moved()) == RUNS[1].log


def test_a_click_chooses_and_a_second_one_opens() -> None:
    async def clicked() -> str | None:
        app = RunsApp(MemoryFeed(), Looks(), runs=RUNS, now=lambda: 100.0)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await pilot.click(RunRows, offset=(30, 5))
            assert app.chosen == 1
            await pilot.click(RunRows, offset=(30, 5))
        return app.return_value

    assert asyncio.run(clicked()) == RUNS[1].log
