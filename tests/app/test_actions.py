"""What a key may do to the run: the plan first, Cancel by default, then every step and the proof, on one screen."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from play import Clock, MemoryFeed, screen_text, seen, session, settle, until

from hangtop import launches
from hangtop.actions.steps import step
from hangtop.app import HangtopApp
from hangtop.panes.gpus import GpusPane
from hangtop.records.ask import Ask, FlightAsk, LaunchAsk, LeftoversAsk, StacksAsk
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.leftovers import LeftoversReading
from hangtop.records.plan import Plan, Removal, Spared
from hangtop.records.process import Process, ProcessReading
from hangtop.records.reading import Reading
from hangtop.screens.chosen import Chosen, chosen
from hangtop.screens.confirm import ActionScreen
from hangtop.screens.leave import LeaveScreen
from hangtop.screens.rank import RankScreen
from hangtop.screens.stacks import StacksScreen
from hangtop.sources.processes import open_table
from hangtop.sources.stacks import look
from hangtop.spec import DEFAULT_SOURCES, WatchSpec
from tests.fakes.processes import python

WILLING = "import time; print(flush=True); time.sleep(600)"


@pytest.fixture(autouse=True)
def _own_action_log(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@contextmanager
def running(count: int = 1) -> Iterator[list[Process]]:
    """Real processes, as the process source would tell of them."""
    children = [
        subprocess.Popen([sys.executable, "-c", WILLING], stdout=subprocess.PIPE, start_new_session=True) for _ in range(count)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            child.stdout.readline()
        yield [described(child.pid, rank) for rank, child in enumerate(children)]
    finally:
        for child in children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            child.wait(10)
            assert child.stdout is not None
            child.stdout.close()


def described(pid: int, rank: int) -> Process:
    table = open_table()
    table.refresh((pid,))
    stat = table.stats[pid]
    command = " ".join(table.command(pid))
    started_at = table.started_at(stat.start_ticks)
    return Process(
        pid, started_at, stat.start_ticks, os.getpid(), "python", command, "S", "rank", rank, uid=os.geteuid(), user="alice"
    )


class DeafFeed(MemoryFeed):
    """Takes questions down and answers none."""

    def ask(self, ask: Ask) -> None:
        self.questions = [*getattr(self, "questions", []), ask]


def app_over(processes: list[Process], name: str = "stalled", **options: object) -> HangtopApp:
    spec, readings, at = session(name)
    spec = replace(spec, sources=DEFAULT_SOURCES)
    host = os.uname().nodename
    feed = DeafFeed([*readings, Reading("procs", host, at, ProcessReading(processes=tuple(processes)))])
    return HangtopApp(spec, feed, now=Clock(at), **options)  # type: ignore[arg-type]


async def over(pilot, app: HangtopApp) -> ActionScreen:
    """The action screen, once all is done."""
    screen = app.screen
    assert isinstance(screen, ActionScreen)
    for _ in range(600):
        if screen.phase == "over":
            break
        await asyncio.sleep(0.05)
    assert screen.phase == "over"
    await pilot.pause()
    return screen


def alive(process: Process) -> bool:
    table = open_table()
    table.refresh((process.pid,))
    stat = table.stats.get(process.pid)
    return stat is not None and stat.state not in "ZX"


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
            await pilot.pause(0.2)
            assert not isinstance(app.screen, ActionScreen)
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


async def test_a_run_that_works_is_stopped_only_when_the_word_is_typed():
    with running() as processes:
        app = app_over(processes, "healthy")
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press("k")
            await seen(pilot, app, "does not seem to hang")
            assert "type stop" in screen_text(app)
            await pilot.press("right", "enter")
            await pilot.pause(0.2)
            assert alive(processes[0])
            assert app.screen is app.watch_screen
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
            await settle(pilot, app)
            await pilot.press("k", "right", "enter")
            screen = app.screen
            assert isinstance(screen, ActionScreen)
            while not screen.steps:
                await asyncio.sleep(0.02)
            await pilot.press("ctrl+c")
        assert await asyncio.to_thread(child.wait, 40) == -signal.SIGKILL
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(10)
        child.stdout.close()


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
            for part in look(ask, app.now()):
                app.feed.put(Reading("stacks", "n1", app.now(), part))
            await settle(pilot, app)
            await pilot.pause(0.3)
            text = screen_text(app)
            assert "Taking the stacks" not in text
            assert "ranks   0-1" in text
            asked = len(app.feed.questions)
            await pilot.press("s")
            assert [type(one) for one in app.feed.questions[asked:]] == [FlightAsk, StacksAsk]
            await pilot.press("l", "v")
            looks = [one for one in app.feed.questions if isinstance(one, StacksAsk)]
            assert [(one.native, one.locals) for one in looks[-2:]] == [(False, True), (True, False)]
            await pilot.press("slash", *"1 ", "enter")
            await pilot.pause()
            assert "1 process" not in screen_text(app)
            assert "1 rank " in screen_text(app)
            await pilot.press("w")
            await pilot.pause(0.5)
            (saved,) = tmp_path.glob("hangtop-stacks-*.txt")
            assert "1 rank " in saved.read_text()
            assert saved.stat().st_mode & 0o077 == 0
            assert str(saved) in app.screen._said
            await pilot.press("slash", *"nowhere", "enter")
            await pilot.pause()
            assert "No stack of" in screen_text(app)
            await pilot.press("a", "y", "enter", "escape")
            await until(pilot, lambda: app.screen is app.watch_screen)


async def test_b_writes_the_bundle_in_a_process_of_its_own(monkeypatch, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("step 1\n")
    monkeypatch.chdir(tmp_path)
    app = HangtopApp(WatchSpec(logs=(str(log),)), DeafFeed())
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press("b")
        await over(pilot, app)
        (place,) = tmp_path.glob("hangtop-*.tar.gz")
        assert place.name in screen_text(app)


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
        app.feed.put(Reading("leftovers", "n1", app.now(), LeftoversReading(ask.ask - 1, kept=(Spared("old", "old"),))))
        await settle(pilot, app)
        await pilot.pause(0.4)
        assert "Looking" in screen_text(app)
        app.feed.put(Reading("leftovers", "n1", app.now(), LeftoversReading(ask.ask, (removal,))))
        await settle(pilot, app)
        await pilot.pause(0.4)
        assert str(segment) in screen_text(app)
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
            environ_file = launches.keep_environ({})
            argv = (sys.executable, "-c", WILLING)
            known = Launch(argv, "/", environ_file, ask.pid, ask.start_ticks, 1.0, str(tmp_path / "train.log"))
            app.feed.put(Reading("launch", "n1", app.now(), LaunchReading(ask.ask, known)))
            await settle(pilot, app)
            await pilot.pause(0.4)
            text = screen_text(app)
            assert "Restart the run: stop 1 process, start attempt 2" in text
            assert "NCCL_DEBUG=INFO" not in text
            await pilot.press("1")
            await seen(pilot, app, "NCCL_DEBUG=INFO")
            await pilot.press("1")
            assert "NCCL_DEBUG=INFO" not in screen_text(app)
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
            await settle(pilot, app)
            await pilot.press("k", "right", "enter")
            screen = app.screen
            assert isinstance(screen, ActionScreen)
            while not screen.steps:
                await asyncio.sleep(0.02)
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
            while not [child for child in psutil.Process().children() if "hangtop.actions.performer" in child.cmdline()]:
                await asyncio.sleep(0.001)
            await pilot.press("x")
            await over(pilot, app)
            assert "broken off" in screen_text(app)
            assert alive(processes[0]) == ("SIGTERM to pid" not in screen_text(app))


@contextmanager
def family() -> Iterator[list[Process]]:
    """A launcher, its rank 1 and what that started, as the process source would tell of them."""
    with running(3) as (top, rank, worker):
        yield [
            replace(top, rank=None, role="launcher"),
            replace(rank, ppid=top.pid),
            replace(worker, ppid=rank.pid, rank=None, role="data worker"),
        ]


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
        assert chosen(app) == Chosen(ranks[0])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RankScreen))
        assert chosen(app) == Chosen(ranks[0])
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


@pytest.mark.parametrize("keys", [("q",), ("enter",), ("ctrl+c",)])
async def test_quitting_asks_while_a_run_that_hangtop_started_lives_and_leaves_it_by_default(keys: tuple[str, ...]):
    with running() as processes:
        app = app_over(processes, started=True)
        async with app.run_test(size=(100, 30)) as pilot:
            await settle(pilot, app)
            await pilot.press("q")
            await until(pilot, lambda: isinstance(app.screen, LeaveScreen))
            assert "Leave it running" in screen_text(app)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.watch_screen)
            await pilot.press("q", *keys)
            await pilot.pause()
            assert not app.is_running
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
            await pilot.pause()
            assert not app.is_running


async def test_without_a_run_of_its_own_q_is_immediate():
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(100, 30)) as pilot:
            await settle(pilot, app)
            await pilot.press("q")
            await pilot.pause()
            assert not app.is_running


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
