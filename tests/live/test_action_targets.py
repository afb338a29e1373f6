"""An action means what is chosen on the screen: a rank, a process, a GPU."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from hangtop.records.process import ProcessReading
from hangtop.records.reading import Reading
from hangtop.tui.pages.rank_page import RankScreen
from hangtop.tui.panes.gpus_pane import GpusPane
from hangtop.tui.selection import Selection
from tests.app.play import screen_text, seen, settle, until
from tests.live.acting import alive, app_over, family, over, running


async def test_a_chosen_rank_is_stopped_alone():
    with running(2) as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            app.choose_rank(1)
            await pilot.press("k")
            await seen(pilot, app, "Stop rank 1: 1 process")
            await pilot.press("right", "enter")
            await over(pilot, app)
            assert alive(processes[0])
            assert not alive(processes[1])


async def test_the_target_is_frozen_when_the_key_is_pressed():
    with running(2) as processes:
        app = app_over(processes[:1])
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press("k")
            app.feed.put(Reading("procs", os.uname().nodename, app.now(), ProcessReading(processes=tuple(processes))))
            await settle(pilot, app)
            assert "1 process " in screen_text(app)
            await pilot.press("right", "enter")
            await over(pilot, app)
            assert alive(processes[1])


@pytest.mark.parametrize(
    ("line", "title"),
    [(0, "what it started: 3 processes"), (1, "Stop rank 1: 2 processes"), (2, "Stop rank 1: 2 processes")],
)
async def test_k_acts_on_what_is_chosen_among_the_processes(line: int, title: str):
    with family() as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 50)) as pilot:
            await settle(pilot, app)
            app.choose_rank(0)
            await pilot.press("4")
            app.watch_screen.processes_pane.chosen = (os.uname().nodename, processes[line].pid, processes[line].start_ticks)
            await pilot.press("k")
            await seen(pilot, app, title)
            await pilot.press("escape", "enter", "k")
            assert title in screen_text(app)
            await pilot.press("escape", "escape", "escape", "k")
            assert "Stop rank 0" not in screen_text(app)
            assert all(map(alive, processes))


async def test_k_acts_on_the_rank_of_the_chosen_gpu_and_enter_shows_it():
    app = app_over([], "fleet_hung")
    async with app.run_test(size=(140, 50)) as pilot:
        await settle(pilot, app)
        app.choose_rank(0)
        await pilot.press("3", "end")
        pane = app.watch_screen.query_one(GpusPane)
        ranks = pane.chosen_ranks()
        assert ranks is not None
        assert len(ranks) == 1
        assert ranks != (0,)
        assert app.selection == Selection(ranks[0])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RankScreen))
        assert app.selection == Selection(ranks[0])
        assert app.screen.rank == ranks[0]
        await pilot.press("escape", "escape")
        assert pane.chosen is None


async def test_a_line_that_stands_for_several_is_not_taken_for_one():
    with running(3) as processes:
        alike = [replace(process, rank=None, role="data worker", ppid=1) for process in processes]
        app = app_over(alike)
        async with app.run_test(size=(140, 50)) as pilot:
            await settle(pilot, app)
            await pilot.press("4")
            pane = app.watch_screen.processes_pane
            pane.chosen = (os.uname().nodename, alike[0].pid, alike[0].start_ticks)
            node = pane.chosen_node()
            assert node is not None
            assert len(node.members) == 3
            await pilot.press("k")
            await seen(pilot, app, "stands for 3 alike")
