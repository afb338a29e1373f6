"""A question that gets no answer: the dialog says what is the matter with its source, and ends when the question has ended."""

from __future__ import annotations

import pytest
from acting import app_over, running
from play import screen_text, seen, settle, until

from hangtop.records.ask import AskEnd, PageAsk, StacksAsk, kind_of
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading
from hangtop.screens.confirm import ActionScreen

SOURCES = {"c": "leftovers", "r": "launch", "exclamation_mark": "launch", "s": "stacks"}


@pytest.mark.parametrize("key", SOURCES)
async def test_a_dialog_says_what_its_source_is_busy_with_and_then_why_there_is_no_answer(key: str):
    with running() as processes:
        app = app_over(processes)
        async with app.run_test(size=(140, 40)) as pilot:
            await settle(pilot, app)
            await pilot.press(key)
            ask = next(ask for ask in app.feed.questions if not isinstance(ask, StacksAsk) or key == "s")
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
            assert not app.watch_screen.log_pane.book.waiting
