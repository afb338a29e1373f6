"""R and !: the plan for one Ray session and the one for a full recovery, on their screen; how Ray starts can be edited there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.records.ask import Ask, LaunchAsk, RayAsk
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.plan import RayStart
from hangtop.records.process import Process, ProcessReading, RayTie
from hangtop.records.ray.cluster import RayCluster, RayDriver, RayReading
from hangtop.records.ray.session import RayProcess, RaySession
from hangtop.records.reading import Reading, Value
from hangtop.records.watch_spec import DEFAULT_SOURCES
from hangtop.system.stores import launch_store
from hangtop.tui.app import HangtopApp
from hangtop.tui.dialogs.action_dialog import ActionScreen
from hangtop.tui.dialogs.question import RaySessionScreen
from tests.app.play import Clock, MemoryFeed, screen_text, seen, session, settle, until

NAME = "session_2026-01-01_00-00-00_000000_7"
START = RayStart(("/env/bin/ray", "start", "--head", "--port=6379"), "/", "/state/e.environ", "10.0.0.1:6379")
HOST = os.uname().nodename
NEVER = 4_000_000
"""Above every pid that Linux gives out by default: nothing of the plan can be hit."""


class AskedFeed(MemoryFeed):
    """Takes questions down; answers come when the test gives them."""

    def ask(self, ask: Ask) -> None:
        self.questions = [*getattr(self, "questions", []), ask]


def member(pid: int, kind: str, title: str) -> RayProcess:
    return RayProcess(pid, pid, 1.0, 1, f"/env/{title}", "S", kind, title, uid=os.geteuid(), user="alice")  # type: ignore[arg-type]


DRIVES = RayTie("drives", f"/tmp/ray/{NAME}", NEVER, 1.0, NEVER, "python", "01000000")
"""What proves that the session is the run's."""
MEMBERS = (member(NEVER + 1, "gcs_server", "gcs server"), member(NEVER + 2, "raylet", "raylet"))


@pytest.fixture
def app() -> HangtopApp:
    spec, readings, at = session("stalled")
    cluster = RayCluster(NAME, f"/tmp/ray/{NAME}", uid=os.geteuid(), user="alice")
    driver = Process(NEVER, 1.0, NEVER, 1, "python", "python main.py", "S", "launcher", uid=os.geteuid(), user="alice")
    feed = AskedFeed(
        [
            *(reading for reading in readings if not isinstance(reading.value, RayReading)),
            Reading("procs", HOST, at, ProcessReading(processes=(driver,), ray=(DRIVES,))),
            Reading("ray", HOST, at, RayReading((cluster,))),
        ]
    )
    return HangtopApp(replace(spec, sources=DEFAULT_SOURCES), feed, now=Clock(at))


async def told(pilot, app: HangtopApp, *answers: Callable[[int], Value]) -> ActionScreen:
    """The action screen, once the questions have these answers."""
    number = app.feed.questions[-1].ask
    for answer in answers:
        app.feed.put(Reading("probe", HOST, app.now(), answer(number)))
    await settle(pilot, app)
    await pilot.pause(0.4)  # the screen follows readings four times a second
    await settle(pilot, app)
    assert isinstance(app.screen, ActionScreen)
    return app.screen


def of_session(number: int) -> RaySession:
    return RaySession(number, NAME, f"/tmp/ray/{NAME}", MEMBERS, (START,))


async def test_r_shows_the_session_and_enter_without_the_word_does_nothing(app: HangtopApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press("R")
        assert isinstance(app.feed.questions[-1], RayAsk)
        assert "Looking" in screen_text(app)
        screen = await told(pilot, app, of_session)
        text = screen_text(app)
        assert "stop 2 processes, start 1 node with the same options" in text
        assert "/env/bin/ray start --head --port=6379" in text
        assert "type ray" in text
        await pilot.press("right", "enter")
        assert screen.steps == []
        assert app.screen is app.watch_screen


async def test_how_ray_starts_is_edited_and_what_is_shown_then_is_the_plan(app: HangtopApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press("R")
        screen = await told(pilot, app, of_session)
        await pilot.press("ctrl+e", *" --num-cpus=2 'x", "enter")
        await seen(pilot, app, "no closing quotation")
        await pilot.press("backspace", "backspace", "backspace", "enter")
        await seen(pilot, app, "--port=6379 --num-cpus=2")
        assert screen.plan is not None
        assert screen.plan.ray[0].argv == (*START.argv, "--num-cpus=2")
        await pilot.press("ctrl+e", "ctrl+w", "escape")
        assert screen.plan.ray[0].argv == (*START.argv, "--num-cpus=2")
        assert not screen.armed


async def test_a_recovery_waits_for_both_answers_and_shows_every_part(app: HangtopApp, tmp_path: Path):
    (tmp_path / "main.py").touch()
    async with app.run_test(size=(120, 50)) as pilot:
        await settle(pilot, app)
        await pilot.press("exclamation_mark")
        kinds = {type(ask) for ask in app.feed.questions[-2:]}
        environ, log = launch_store.keep_environ({}), str(tmp_path / "train.log")
        launch = Launch((sys.executable, "main.py"), str(tmp_path), environ, NEVER, NEVER, 1.0, log)
        await told(pilot, app, lambda number: LaunchReading(number, launch))
        if RayAsk in kinds:
            assert "Looking" in screen_text(app)
            await told(pilot, app, of_session)
        assert LaunchAsk in {type(ask) for ask in app.feed.questions}
        text = screen_text(app)
        for part in ("Recover the run: stop", "evidence, while the run still hangs", "attempt 2", "Watched", "type recover"):
            assert part in text


async def test_read_only_has_neither_key():
    spec, readings, at = session("stalled")
    app = HangtopApp(spec, AskedFeed(readings), now=Clock(at), read_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press("R", "exclamation_mark")
        await until(pilot, lambda: app.screen is app.watch_screen)


OTHER = "session_2026-01-02_00-00-00_000000_9"


async def beside(pilot, app: HangtopApp, *names: str) -> None:
    """These sessions are on the machine, and nothing proves one of them to be the run's."""
    driver = RayDriver("01000000", 5, "n", "python main.py --of=somebody", local=True)
    known = tuple(RayCluster(name, f"/tmp/ray/{name}", uid=os.geteuid(), user="alice", drivers=(driver,)) for name in names)
    app.feed.put(Reading("procs", HOST, app.now(), ProcessReading()))
    app.feed.put(Reading("ray", HOST, app.now(), RayReading(known)))
    await settle(pilot, app)
    assert not [ask for ask in getattr(app.feed, "questions", []) if isinstance(ask, RayAsk)]


def asked_for(app: HangtopApp) -> list[str]:
    return [ask.session for ask in getattr(app.feed, "questions", []) if isinstance(ask, RayAsk)]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_without_proof_even_the_only_session_is_asked_for_and_none_is_chosen_until_a_person_does(app: HangtopApp, size):
    async with app.run_test(size=size) as pilot:
        await settle(pilot, app)
        await beside(pilot, app, NAME)
        await pilot.press("R")
        await pilot.pause()
        assert isinstance(app.screen, RaySessionScreen)
        assert app.screen.at is None
        text = screen_text(app)
        for part in (NAME, "alice", "none is proven to be this run's"):
            assert part in text
        assert f"▸ {NAME}" not in text
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert isinstance(app.screen, RaySessionScreen)
        assert asked_for(app) == []
        await pilot.press("down")
        await seen(pilot, app, "its driver: python main.py --of=somebody")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ActionScreen))
        assert asked_for(app) == [NAME]


async def test_of_several_sessions_a_person_chooses_one_and_its_plan_comes(app: HangtopApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await beside(pilot, app, NAME, OTHER)
        await pilot.press("R")
        await pilot.pause()
        assert isinstance(app.screen, RaySessionScreen)
        text = screen_text(app)
        assert NAME in text
        assert OTHER in text
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.watch_screen)
        assert asked_for(app) == []

        await pilot.press("R", "down", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, ActionScreen))
        assert asked_for(app) == [OTHER]


async def test_a_click_on_a_list_that_was_scrolled_marks_the_session_under_it(app: HangtopApp):
    names = [f"session_2026-01-01_00-00-00_000000_{number}" for number in range(10, 25)]
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await beside(pilot, app, *names)
        await pilot.press("R", "up")
        await seen(pilot, app, f"▸ {names[-1]}")
        await settle(pilot, app)
        lines = screen_text(app).splitlines()
        assert not any(names[0] in line for line in lines)
        y = next(number for number, line in enumerate(lines) if names[-3] in line)
        await pilot.click(offset=(lines[y].index(names[-3]), y))
        await seen(pilot, app, f"▸ {names[-3]}")


async def test_a_recovery_without_proof_asks_too_and_may_leave_every_session_alone(app: HangtopApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await beside(pilot, app, NAME, OTHER)
        await pilot.press("exclamation_mark")
        await pilot.pause()
        assert isinstance(app.screen, RaySessionScreen)
        assert app.screen.at is None
        assert "none of these: leave Ray as it is" in screen_text(app)
        await pilot.press("up", "enter")
        await until(pilot, lambda: isinstance(app.screen, ActionScreen))
        assert asked_for(app) == []


async def test_a_recovery_with_a_session_that_went_while_it_was_chosen_says_so_and_leaves_the_run_alone(app: HangtopApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await beside(pilot, app, NAME)
        await pilot.press("exclamation_mark", "down")
        app.feed.put(Reading("ray", HOST, app.now(), RayReading()))
        await settle(pilot, app)
        await pilot.press("enter")
        await seen(pilot, app, f"no session {NAME} is known here")
        assert "Nothing can be done" in screen_text(app)


async def test_the_pane_says_that_a_session_is_not_the_run_s_and_whose(app: HangtopApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await beside(pilot, app, NAME)
        await seen(pilot, app, f"1 Ray session on this machine, not this run's: {NAME} of alice")
