"""Quitting asks what becomes of a run that hangtop started; of another it asks nothing."""

from __future__ import annotations

import os

import pytest

from hangtop.records.process import ProcessReading
from hangtop.records.reading import Reading
from hangtop.tui.open_action import QuitScreen
from tests.app.play import screen_text, seen, settle, until
from tests.live.acting import alive, app_over, over, running


@pytest.mark.parametrize("keys", [("q",), ("enter",), ("ctrl+c",)])
async def test_quitting_asks_while_a_run_that_hangtop_started_lives_and_leaves_it_by_default(keys: tuple[str, ...]):
    with running() as processes:
        app = app_over(processes, started=True)
        async with app.run_test(size=(100, 30)) as pilot:
            await settle(pilot, app)
            await pilot.press("q")
            await until(pilot, lambda: isinstance(app.screen, QuitScreen))
            assert "Leave it running" in screen_text(app)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.watch_screen)
            await pilot.press("q", *keys)
            await until(pilot, lambda: not app.is_running)
        assert alive(processes[0])


async def test_the_run_can_be_stopped_on_the_way_out_by_the_same_plan():
    with running() as processes:
        app = app_over(processes, started=True)
        async with app.run_test(size=(100, 30)) as pilot:
            await settle(pilot, app)
            await pilot.press("q", "right", "enter")
            await seen(pilot, app, "Stop the run: 1 process")
            await pilot.press("right", "enter")
            await over(pilot, app)
            assert not alive(processes[0])
            await pilot.press("escape")
            app.feed.put(Reading("procs", os.uname().nodename, app.now(), ProcessReading()))
            await settle(pilot, app)
            await pilot.press("q")
            await until(pilot, lambda: not app.is_running)


async def test_without_a_run_of_its_own_q_is_immediate():
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(100, 30)) as pilot:
            await settle(pilot, app)
            await pilot.press("q")
            await until(pilot, lambda: not app.is_running)
