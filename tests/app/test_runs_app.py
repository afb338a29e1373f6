"""Several runs on one machine: looked at in turn, chosen by key or mouse."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from hangtop.monitor.look_at_run import RunLook
from hangtop.monitor.told_state import ToldState
from hangtop.records.reading import Reading
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.tui.runs_app import IDLE_S, RunRows, RunsApp
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


def test_a_run_that_comes_goes_below_and_one_that_ended_stays_and_is_looked_at() -> None:
    new = replace(RUN, log="/data/new/train.log")
    app, looks = asyncio.run(chosen("down", feed=MemoryFeed([found(new, RUNS[1], RUNS[2])])))
    assert [run.log for run in app.runs] == [*(run.log for run in RUNS), new.log]
    assert sorted(looks.asked) == sorted(run.log for run in app.runs)
    assert app.runs[app.chosen] == RUNS[1]


def test_a_run_is_looked_at_anew_ten_seconds_after_its_last_look() -> None:
    async def asked() -> list[int]:
        now, looks, counts = [100.0], Looks(), []
        app = RunsApp(MemoryFeed(), looks, runs=RUNS[:1], now=lambda: now[0])
        async with app.run_test(size=(80, 24)) as pilot:
            for at in (105.0, 111.0):
                await pilot.pause()
                counts.append(len(looks.asked))
                now[0] = at
                await asyncio.sleep(2 * IDLE_S)
            counts.append(len(looks.asked))
        return counts

    assert asyncio.run(asked()) == [1, 1, 2]


def test_what_could_not_be_seen_stands_above_the_keys() -> None:
    async def shown() -> str:
        app = RunsApp(MemoryFeed(), Looks(), runs=RUNS, note="2 processes of other users are not shown", now=lambda: 100.0)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            return app.query_one(RunRows).text()

    assert asyncio.run(shown()).splitlines()[-2].strip() == "2 processes of other users are not shown"


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
