"""What a key may do to the run: the plan first, Cancel by default, then every step and the proof, on one screen."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

from hangtop.actions.execute.steps import step
from hangtop.records.plan import Plan
from hangtop.tui.app import HangtopApp
from hangtop.tui.dialogs.action_dialog import ActionScreen
from tests.app.play import screen_text, seen, settle, until
from tests.fakes.processes import PATIENCE_S
from tests.live.acting import alive, app_over, begun, described, over, running


async def test_the_plan_is_shown_and_enter_twice_does_nothing():
    with running(2) as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press("k")
            text = screen_text(app)
            assert "Stop the run: 2 processes" in text
            for process in processes:
                assert f"{process.pid}" in text
            assert "Cancel" in text
            assert "Stop 2 processes" in text
            await pilot.press("enter", "enter")
            await until(pilot, lambda: not isinstance(app.screen, ActionScreen))
            assert all(map(alive, processes))


async def test_escape_cancels_also_with_the_button_chosen():
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press("k", "right", "escape", "enter")
            await pilot.pause(0.2)
            assert all(map(alive, processes))


async def test_right_and_enter_stop_the_run_and_prove_it():
    with running(2) as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press("k", "right", "enter")
            await over(pilot, app)
            text = screen_text(app)
            assert "SIGTERM to pid" in text
            assert "all 2 processes of the plan are gone" in text
            assert not any(map(alive, processes))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.watch_screen)


async def test_a_run_that_works_is_stopped_only_when_the_word_is_typed():
    with running() as processes:
        app = app_over(processes, "healthy")
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press("k")
            await seen(pilot, app, "does not seem to hang")
            assert "type stop" in screen_text(app)
            await pilot.press("right", "enter")
            await until(pilot, lambda: app.screen is app.watch_screen)
            assert alive(processes[0])
            await pilot.press("k", *"sto", "enter")
            await pilot.pause(0.2)
            assert alive(processes[0])
            await pilot.press("p", "enter")
            await over(pilot, app)
            assert not alive(processes[0])


async def test_letters_of_the_word_do_nothing_else():
    app = app_over([], "healthy")
    plan = Plan("clean", "Clean", word="clean test")
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot, app)
        theme = app.theme
        app.push_screen(ActionScreen(lambda: plan, None, "Clean"))  # type: ignore[arg-type]
        await pilot.pause()
        await pilot.press(*"clean test".replace(" ", ""))
        assert app.theme == theme
        assert isinstance(app.screen, ActionScreen)
        assert app.screen.typed == "cleantest"
        assert not app.screen.armed


async def test_a_click_on_the_word_of_the_action_arms_it_and_a_click_on_cancel_leaves():
    app = app_over([], "healthy")
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot, app)
        screen = ActionScreen(lambda: Plan("stop", "Stop"), None, "Stop it")  # type: ignore[arg-type]
        app.push_screen(screen)
        await settle(pilot, app)
        for word, armed in (("Stop it", True), ("←", False)):
            await _click(pilot, app, word)
            assert screen.armed is armed
        await _click(pilot, app, "Cancel")
        assert app.screen is app.watch_screen


async def _click(pilot, app: HangtopApp, word: str) -> None:
    lines = screen_text(app).splitlines()
    y = max(number for number, line in enumerate(lines) if word in line)
    await pilot.click(offset=(lines[y].rindex(word), y))
    await settle(pilot, app)


async def test_read_only_and_replay_have_no_dangerous_key():
    with running() as processes:
        app = app_over(processes, read_only=True)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            assert "k stop" not in screen_text(app)
            await pilot.press("k")
            await until(pilot, lambda: app.screen is app.watch_screen)


async def test_why_there_is_no_plan_is_said_in_one_line():
    app = app_over([])
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press("k")
        await seen(pilot, app, "no process of this run is known on this machine")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.watch_screen)


async def test_what_was_begun_goes_on_when_hangtop_ends():
    """The screen is closed right after the first step; the stubborn process still gets its KILL."""
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    try:
        child.stdout.readline()
        app = app_over([described(child.pid, 0)])
        async with app.run_test(size=(140, 40)) as pilot:
            await begun(pilot, app)
            await pilot.press("ctrl+c")
        assert await asyncio.to_thread(child.wait, PATIENCE_S) == -signal.SIGKILL
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(10)
        child.stdout.close()


async def test_an_action_that_was_left_is_told_in_the_footer_and_its_key_shows_it_again():
    goes_on, begun = asyncio.Event(), Plan("bundle", "Evidence for a bug report")

    async def work(plan: Plan):
        yield step("doing", "the first part")
        await goes_on.wait()
        yield step("done", "the last part")

    app = app_over([])
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot, app)
        app.push_screen(ActionScreen(lambda: begun, work, "Bundle", at_once=True, act="bundle"))
        await pilot.pause()
        await pilot.press("escape")
        await settle(pilot, app)
        assert app.screen is app.watch_screen
        assert "b bundle: at work" in screen_text(app)

        await pilot.press("b")
        await pilot.pause()
        assert "the first part" in screen_text(app)
        assert "back, it goes on" in screen_text(app)

        await pilot.press("escape")
        goes_on.set()
        await settle(pilot, app)
        assert "b bundle: done" in screen_text(app)
        await pilot.press("b")
        await pilot.pause()
        assert "the last part" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot, app)
        assert "b bundle   " in screen_text(app)
        assert app.under_way == {}
