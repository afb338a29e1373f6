"""What a person changes in the plan of a restart: the command, variables of their own, presets. A run that could not be started
again is never stopped: real processes, real shells."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hangtop.records.ask import LaunchAsk
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.process import Process
from hangtop.records.reading import Reading
from hangtop.system.stores import launch_store
from hangtop.tui.app import HangtopApp
from hangtop.tui.dialogs.action_dialog import ActionScreen
from tests.app.play import screen_text, seen, settle, until
from tests.fakes.processes import eventually
from tests.fakes.started import end_run
from tests.live.acting import WILLING, alive, app_over, over, running

NEW = "import os, time; print('IB', os.environ.get('NCCL_IB_DISABLE'), os.environ.get('MINE'), flush=True); time.sleep(600)"


async def opened(pilot, app: HangtopApp, tmp_path: Path) -> ActionScreen:
    """The dialog, once the plan is there and was looked at."""
    await settle(pilot, app)
    await pilot.press("r")
    ask = app.feed.questions[-1]
    assert isinstance(ask, LaunchAsk)
    environ_file = launch_store.keep_environ({"PATH": os.environ["PATH"], "SHELL": "/bin/sh"})
    known = Launch(
        (sys.executable, "-c", WILLING), str(tmp_path), environ_file, ask.pid, ask.start_ticks, 1.0, str(tmp_path / "x.log")
    )
    app.feed.put(Reading("launch", "n1", app.now(), LaunchReading(ask.ask, known, interfaces=("eth7", "ib0"))))
    await seen(pilot, app, "Restart the run: stop 1 process, start attempt 2")
    screen = app.screen
    assert isinstance(screen, ActionScreen)
    await looked(pilot, screen)
    return screen


async def looked(pilot, screen: ActionScreen) -> None:
    await until(pilot, lambda: screen.fit is not None, "the look whether it can start")


async def typed(pilot, screen: ActionScreen, key: str, text: str) -> None:
    """Another text in the field that this key opens, and taken."""
    await pilot.press(key)
    assert screen.edit is not None
    screen.edit.text, screen.edit.place = "", 0
    for character in text:
        screen.edit.press("", character)
    await pilot.press("enter")
    if screen.edit is None:
        await looked(pilot, screen)


@contextmanager
def ended_after(log: Path) -> Iterator[None]:
    """What was started is killed."""
    try:
        yield
    finally:
        known = launch_store.latest(str(log))
        if known is not None and known.attempt > 1:
            end_run(known)


async def test_a_command_that_cannot_start_is_told_and_enter_does_nothing(tmp_path: Path):
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(150, 50)) as pilot:
            screen = await opened(pilot, app, tmp_path)
            assert not screen.fit.problems
            for text, why in (
                ("NCCL_IB_DISABLE=1 no-such-program", "no-such-program: no such program in the PATH"),
                ("python3 no-such-file.py", "no-such-file.py: no such file"),
                ("cd no-such-folder && python3", "no-such-folder: no such folder"),
                ("if true", "cannot read the command"),
            ):
                await typed(pilot, screen, "ctrl+e", text)
                assert "it would not start" in await seen(pilot, app, why)
                await pilot.press("right", "enter", "enter")
                await pilot.pause(0.1)
                assert app.screen is screen
                assert screen.phase == "asking"
            assert alive(processes[0])
            await typed(pilot, screen, "ctrl+e", "python3 'x")
            assert "no closing quotation" in screen_text(app)
            await pilot.press("escape", "escape")
            await until(pilot, lambda: app.screen is app.watch_screen)
            assert alive(processes[0])


async def test_variables_before_the_command_and_of_ones_own_reach_the_new_run(tmp_path: Path):
    with running() as processes, ended_after(tmp_path / "x.log"):
        app = app_over(processes)
        async with app.run_test(size=(150, 50)) as pilot:
            screen = await opened(pilot, app, tmp_path)
            await typed(pilot, screen, "ctrl+e", f'NCCL_IB_DISABLE=1 {sys.executable} -c "{NEW}"')
            await typed(pilot, screen, "ctrl+n", "MINE='a b' 2=x")
            assert "'2' is not the name of a variable" in screen_text(app)
            await pilot.press("escape")
            await typed(pilot, screen, "ctrl+n", "MINE='a b' OTHER=1")
            text = await seen(pilot, app, "MINE='a b'")
            assert "OTHER=1" in text
            assert "env NCCL_IB_DISABLE=1" in text
            assert "it would not start" not in text
            await pilot.press("right", "enter")
            await over(pilot, app)
            assert "is started, attempt 2" in screen_text(app)
            eventually(lambda: (tmp_path / "x.log").read_text() == "IB 1 a b\n", "the first line of the new run")
            assert not alive(processes[0])
            known = launch_store.latest(str(tmp_path / "x.log"))
            assert known.argv[:2] == ("env", "NCCL_IB_DISABLE=1")  # what is in the command stays in it
            assert "MINE" not in launch_store.environ_of(known.environ_file)


async def test_a_pipe_is_run_by_the_shell_of_the_run_and_shown_so(tmp_path: Path):
    with running() as processes, ended_after(tmp_path / "x.log"):
        app = app_over(processes)
        async with app.run_test(size=(150, 50)) as pilot:
            screen = await opened(pilot, app, tmp_path)
            await typed(pilot, screen, "ctrl+e", f"cd / && {sys.executable} -c \"{NEW}\" | tee '{tmp_path}/a b.txt'")
            assert "/bin/sh -c" in await seen(pilot, app, "attempt 2")
            assert "it would not start" not in screen_text(app)
            await pilot.press("right", "enter")
            await over(pilot, app)
            eventually(lambda: (tmp_path / "x.log").read_text() == "IB None None\n", "its line in the log")
            assert (tmp_path / "a b.txt").read_text() == "IB None None\n"


async def test_zero_shows_more_presets_and_the_interface_is_filled_in(tmp_path: Path):
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(150, 70)) as pilot:
            screen = await opened(pilot, app, tmp_path)
            while not (found := [n for n, preset in enumerate(screen.changes.page, 1) if preset.id == "interface"]):
                await pilot.press("0")
            await pilot.press(str(found[0]))
            text = await seen(pilot, app, "NCCL_SOCKET_IFNAME")
            assert "eth7" in text
            assert screen.plan.start.set_env["GLOO_SOCKET_IFNAME"] == "eth7"
            await typed(pilot, screen, "ctrl+n", "GLOO_SOCKET_IFNAME=ib0")
            assert screen.plan.start.set_env["GLOO_SOCKET_IFNAME"] == "ib0"
            assert screen.plan.start.set_env["NCCL_SOCKET_IFNAME"] == "=eth7"


async def test_enter_waits_until_it_is_known_whether_it_can_start(tmp_path: Path):
    process: Process
    with running() as (process,):
        app = app_over([process])
        async with app.run_test(size=(150, 50)) as pilot:
            screen = await opened(pilot, app, tmp_path)
            screen.fit = None
            screen.show(app.view)
            assert "checking whether it can start" in screen_text(app)
            await pilot.press("right", "enter")
            await pilot.pause(0.1)
            assert screen.phase == "asking"
            assert alive(process)
