"""A question that gets no answer: the dialog says what is the matter with its source, and ends when the question has ended."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from hangtop.records.ask import ActorLogAsk, AskEnd, PageAsk, StacksAsk, WaitsAsk, kind_of
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.ray.cluster import RayActor, RayCluster, RayReading
from hangtop.records.reading import Reading
from hangtop.render.ray.ray_rows import key_of
from hangtop.tui.dialogs.action_dialog import ActionScreen
from hangtop.tui.pages.actor_page import ActorScreen
from tests.app.play import screen_text, seen, settle, until
from tests.live.acting import app_over, running

SOURCES = {"c": "leftovers", "r": "launch", "exclamation_mark": "launch", "s": "stacks"}


@pytest.mark.parametrize("key", SOURCES)
async def test_a_dialog_says_what_its_source_is_busy_with_and_then_why_there_is_no_answer(key: str):
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press(key)
            asks = [ask for ask in app.feed.questions if not isinstance(ask, WaitsAsk)]  # these it asks by itself
            ask = next(ask for ask in asks if not isinstance(ask, StacksAsk) or key == "s")
            assert "no answer" not in screen_text(app)
            busy = SourceHealth(SOURCES[key], None, busy_s=12.0, deadline_s=3.0)
            app.feed.put(Reading("probe", "n1", app.now(), Heartbeat((busy,))))
            app.now.now += 12.0  # type: ignore[attr-defined]
            await seen(pilot, app, f"no answer for 12s from the {SOURCES[key]} source, which is busy for 12s")
            app.feed.put(Reading(SOURCES[key], "n1", app.now(), AskEnd(ask.ask, kind_of(ask), "the file server does not answer")))
            await seen(pilot, app, "the file server does not answer")
            if isinstance(app.screen, ActionScreen):
                assert "Nothing can be done" in screen_text(app)
                assert app.screen.phase == "refused"


async def test_a_search_that_ends_without_an_answer_says_why():
    with running() as processes:
        app = app_over(processes)
        app.feed._answer = lambda ask: None  # type: ignore[method-assign]
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            app.feed.ask = lambda ask: app.feed.asked.append(ask)  # type: ignore[method-assign]
            await pilot.press("slash", *"nowhere", "enter")
            await until(pilot, lambda: app.feed.asked, "the question")
            ask = app.feed.asked[-1]
            assert isinstance(ask, PageAsk)
            await seen(pilot, app, "searching")
            app.feed.put(Reading("feed", "n1", app.now(), AskEnd(ask.ask, "page", "the probe was killed by SIGKILL: ask again")))
            await seen(pilot, app, "the probe was killed by SIGKILL: ask again")
            assert not app.watch_screen.log_pane.model.waiting


async def test_the_key_of_ray_does_not_call_absent_what_was_not_looked_for():
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            app.state = replace(app.state, ray={})
            busy = SourceHealth("ray", None, busy_s=12.0, deadline_s=3.0)
            app.feed.put(Reading("probe", "n1", app.now(), Heartbeat((busy,))))
            await until(pilot, lambda: "ray" in app.state.health, "the beat")
            await pilot.press("R")
            await seen(pilot, app, "it was not looked for yet, its source is busy for 12s")
            assert "Nothing can be done" in screen_text(app)


async def test_the_page_of_an_actor_says_what_the_matter_is_with_its_lines_and_then_why_there_are_none():
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            actor = RayActor("WorkerDict", "running", id="a1", log="/tmp/ray/s/logs/worker-1.out")
            cluster = RayCluster("session_1", "/tmp/ray/session_1", uid=os.geteuid(), actors=(actor,))
            app.feed.put(Reading("ray", "n1", app.now(), RayReading((cluster,), named=True)))
            await until(pilot, lambda: "n1" in app.state.ray, "the actor")
            app.push_screen(ActorScreen(key_of(actor)))
            await until(pilot, lambda: [ask for ask in app.feed.questions if isinstance(ask, ActorLogAsk)], "the question")
            ask = next(ask for ask in app.feed.questions if isinstance(ask, ActorLogAsk))
            busy = SourceHealth("rayworkers", None, busy_s=12.0, deadline_s=3.0)
            app.feed.put(Reading("probe", "n1", app.now(), Heartbeat((busy,))))
            app.now.now += 12.0  # type: ignore[attr-defined]
            await seen(pilot, app, "no answer for 12s")
            app.feed.put(Reading("rayworkers", "n1", app.now(), AskEnd(ask.ask, kind_of(ask), "the node does not answer")))
            await seen(pilot, app, "the node does not answer")
