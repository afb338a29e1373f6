"""Each key for an action: stacks, bundle, clean, restart, and x that breaks one off."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
from msgspec.structs import replace

from hangtop.probe.stacks.stack_source import answer_stacks
from hangtop.records.ask import FlightAsk, LaunchAsk, LeftoversAsk, StacksAsk
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.plan import LeftAlone, LeftoversReading, Removal
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.stores import launch_store
from hangtop.tui.app import HangtopApp
from hangtop.tui.background_work import run_task
from hangtop.tui.dialogs.action_dialog import ActionScreen
from hangtop.tui.dialogs.question import QuestionScreen
from hangtop.tui.pages.stacks_page import StacksScreen
from tests.app.play import screen_text, seen, settle, until
from tests.fakes.processes import python
from tests.live.acting import WILLING, DeafFeed, alive, app_over, begun, described, over, running


async def test_s_takes_the_stacks_anew_and_shows_them_chosen_and_saved(monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    with running(2) as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press("s")
            await until(pilot, lambda: isinstance(app.screen, StacksScreen))
            await pilot.pause()
            assert "Taking the stacks" in screen_text(app)
            ask = app.feed.questions[-1]
            assert isinstance(ask, StacksAsk)
            assert set(ask.pids) >= {process.pid for process in processes}
            for part in answer_stacks(ask, app.now()):
                app.feed.put(Reading("stacks", "n1", app.now(), part))
            await settle(pilot, app)
            await until(pilot, lambda: "Taking the stacks" not in screen_text(app))
            assert "ranks   0-1" in screen_text(app)
            asked = len(app.feed.questions)
            await pilot.press("s")
            assert [type(ask) for ask in app.feed.questions[asked:]] == [FlightAsk, StacksAsk]
            await pilot.press("l", "right", "enter")
            looks = [ask for ask in app.feed.questions if isinstance(ask, StacksAsk)]
            assert (looks[-1].stop, looks[-1].locals) == ({}, True)
            await pilot.press("slash", *"1 ", "enter")
            await pilot.pause()
            assert "1 process" not in screen_text(app)
            assert "1 rank " in screen_text(app)
            await pilot.press("w")
            await until(pilot, lambda: "saved to" in app.screen._notice, "word that they are saved")
            (saved,) = tmp_path.glob("hangtop-stacks-*.txt")
            assert "1 rank " in saved.read_text()
            assert saved.stat().st_mode & 0o077 == 0
            assert str(saved) in app.screen._notice
            await pilot.press("slash", *"nowhere", "enter")
            await pilot.pause()
            assert "No stack of" in screen_text(app)
            await pilot.press("a", "y", "enter", "escape")
            await until(pilot, lambda: app.screen is app.watch_screen)


async def test_v_says_whom_it_stops_and_stops_nobody_before_it_is_told_to():
    with running(2) as processes:
        stranger = replace(processes[1], uid=23_001, user="bob")
        app = app_over([processes[0], stranger])
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press("s")
            await until(pilot, lambda: isinstance(app.screen, StacksScreen))
            asked = len(app.feed.questions)
            await pilot.press("v")
            await until(pilot, lambda: isinstance(app.screen, QuestionScreen))
            await pilot.pause()
            told = screen_text(app)
            assert f"stops this 1 process for about 0.1 s, at most 3 s: pid {processes[0].pid}" in told
            assert f"not stopped: pid {stranger.pid}, it belongs to bob" in told
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, StacksScreen))
            await pilot.press("v", "v", "escape")
            assert len(app.feed.questions) == asked
            await pilot.press("v", "right", "enter")
            (ask,) = [ask for ask in app.feed.questions[asked:] if isinstance(ask, StacksAsk)]
            assert ask.stop == {processes[0].pid: processes[0].start_ticks}


async def test_b_writes_the_bundle_in_a_process_of_its_own(monkeypatch, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    app = HangtopApp(WatchSpec(logs=(str(log),)), DeafFeed(), on_bundle=told.append)
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press("b")
        await over(pilot, app)
        (place,) = tmp_path.glob("hangtop-*.tar.gz")
        assert place.name in screen_text(app)
        assert told == [str(place)]


async def test_a_command_in_a_process_of_its_own_that_fails_is_named_at_the_end():
    steps = [taken async for taken in run_task(("bundle",))]
    assert steps[0].text == "hangtop bundle …"
    assert "Missing option" in steps[-2].text
    assert (steps[-1].kind, steps[-1].text) == ("failed", "hangtop bundle ended with exit code 2")


async def test_c_waits_for_the_look_and_wants_its_word_typed(tmp_path: Path):
    app = app_over([])
    segment = tmp_path / "nccl-1"
    segment.write_text("x")
    found = os.lstat(segment)
    removal = Removal(
        str(segment), "shared memory", found.st_dev, found.st_ino, found.st_uid, found.st_mtime_ns, found.st_mtime, 4096
    )
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press("c")
        assert "Looking" in screen_text(app)
        ask = app.feed.questions[-1]
        assert isinstance(ask, LeftoversAsk)
        app.feed.put(Reading("leftovers", "n1", app.now(), LeftoversReading(ask.ask - 1, kept=(LeftAlone("old", "old"),))))
        await settle(pilot, app)
        await pilot.pause(0.4)
        assert "Looking" in screen_text(app)
        app.feed.put(Reading("leftovers", "n1", app.now(), LeftoversReading(ask.ask, (removal,))))
        await settle(pilot, app)
        await seen(pilot, app, str(segment))
        await pilot.press("right", "enter")
        assert segment.exists()
        assert app.screen is app.watch_screen


async def test_r_shows_what_will_be_started_and_digits_choose_its_environment(tmp_path: Path):
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(150, 50)) as pilot:
            await settle(pilot, app)
            await pilot.press("r")
            ask = app.feed.questions[-1]
            assert isinstance(ask, LaunchAsk)
            assert ask.pid == processes[0].pid
            environ_file = launch_store.keep_environ({})
            argv = (sys.executable, "-c", WILLING)
            known = Launch(argv, "/", environ_file, ask.pid, ask.start_ticks, 1.0, str(tmp_path / "train.log"))
            app.feed.put(Reading("launch", "n1", app.now(), LaunchReading(ask.ask, known)))
            text = await seen(pilot, app, "Restart the run: stop 1 process, start attempt 2")
            assert "NCCL_DEBUG=INFO" not in text
            await pilot.press("1")
            await seen(pilot, app, "NCCL_DEBUG=INFO")
            await pilot.press("1")
            await until(pilot, lambda: "NCCL_DEBUG=INFO" not in screen_text(app))
            assert "^E edit" in screen_text(app)
            await pilot.press("ctrl+e", *"x", "escape")
            assert app.screen.plan.start.argv == argv
            await pilot.press("ctrl+e", *" --lr=2", "enter", "1")
            assert app.screen.plan.start.argv == (*argv, "--lr=2")
            assert "--lr=2" in screen_text(app)
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is app.watch_screen)
            assert alive(processes[0])


async def test_x_breaks_an_action_off_and_what_was_not_done_is_told(tmp_path: Path):
    """The stubborn one has had its TERM; it gets no KILL, and the action log tells it."""
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    with python(stubborn, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        process = described(child.pid, 0)
        app = app_over([process])
        async with app.run_test(size=(140, 40)) as pilot:
            screen = await begun(pilot, app)
            await pilot.pause()
            assert "break off" in screen_text(app)
            await pilot.press("x")
            assert "breaking off" in screen_text(app) or screen.phase == "over"
            await over(pilot, app)
            text = screen_text(app)
            assert "broken off as asked" in text
            assert "SIGKILL to" not in text
            assert f"pid {process.pid} rank 0 gets no SIGKILL" in text
            assert f"pid {process.pid} rank 0: it lives, in state S" in text
            assert alive(process)
        told = (tmp_path / "hangtop" / "actions.log").read_text()
        assert "broken off as asked" in told
        assert "SIGKILL to" not in told


async def test_an_action_that_is_broken_off_before_its_first_step_has_done_nothing(tmp_path: Path):
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press("k", "right", "enter")
            screen = app.screen
            assert isinstance(screen, ActionScreen)
            while not performers() and screen.phase != "over":  # a quick one has ended before it was looked for
                await asyncio.sleep(0.001)
            await pilot.press("x")
            await over(pilot, app)
            log = tmp_path / "hangtop" / "actions.log"
            sent = log.exists() and "SIGTERM to pid" in log.read_text()
            if not sent:
                await seen(pilot, app, "broken off")  # the last step is painted a moment after the action has ended
            assert alive(processes[0]) != sent


def performers() -> list[int]:
    """Our own children that carry out a plan."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has ended meanwhile
            if "hangtop.actions.execute.executor" in child.cmdline():
                found.append(child.pid)
    return found
