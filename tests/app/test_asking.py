"""`:` asks in SQL what was seen, `T` shows the whole run: both by a child process, while keys and screen go on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hangtop.query.requests import ChildAnswer, Shown, SqlAsk, TimelineAsk
from hangtop.tui.pages import query_page, timeline_page
from hangtop.tui.pages.query_page import QueryScreen
from tests.app.play import app_on, settle, until

TABLE = Shown(("step", "loss"), (True, True), (("1", "[bold]x"), ("2", "0.4")), ((1.0, 0.5), (2.0, 0.4)))


def rows_of(app) -> str:
    return app.screen.body.text()


async def test_a_question_that_comes_in_one_packet_with_its_key_is_typed_and_asked(monkeypatch):
    asked: list[SqlAsk] = []

    async def at_once(ask, data=b""):
        asked.append(ask)
        return ChildAnswer(table=TABLE)

    monkeypatch.setattr(query_page, "answered", at_once)
    app, _, _ = app_on("healthy")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press(*":k!sq")
        await until(pilot, lambda: isinstance(app.screen, QueryScreen) and app.screen.focused is not None)
        assert app.screen.line.value == "k!sq"
        await pilot.press("ctrl+u", *"gpus", "enter")
        await until(pilot, lambda: asked and "[bold]x" in rows_of(app))
        assert asked[0].sql == "FROM gpus"
        await pilot.press("colon", "up")
        await until(pilot, lambda: app.screen.line.value == "gpus", "the earlier question")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.watch_screen)
        assert not app.under_way


async def test_esc_ends_a_question_that_takes_long_and_its_process(monkeypatch):
    ended = asyncio.Event()

    async def never(ask, data=b""):
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(query_page, "answered", never)
    app, _, _ = app_on("healthy")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, app)
        await pilot.press(*":gpus", "enter")
        await until(pilot, lambda: isinstance(app.screen, QueryScreen) and app.screen._asking is not None)
        await pilot.press("escape")
        await until(pilot, ended.is_set)
        assert isinstance(app.screen, QueryScreen)


async def test_a_real_child_answers_over_what_was_seen(monkeypatch):
    pytest.importorskip("duckdb")
    app, _, _ = app_on("stalled")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        app.action_ask()
        await until(pilot, lambda: isinstance(app.screen, QueryScreen) and app.screen.focused is not None)
        app.screen.ask("SELECT count(DISTINCT rank) || ' ranks' AS seen FROM ranks")
        await until(pilot, lambda: "8 ranks" in rows_of(app))


async def test_the_whole_run_is_drawn_and_its_ranks_by_node(monkeypatch, tmp_path: Path):
    pytest.importorskip("duckdb")
    from hangtop.query.child import answer

    async def here(ask, data=b""):
        assert isinstance(ask, TimelineAsk)
        return answer(ask, data, tmp_path)

    monkeypatch.setattr(timeline_page, "answered", here)
    app, _, _ = app_on("stalled")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await pilot.press("T")
        await until(pilot, lambda: "rank 3" in rows_of(app))
        assert "What happened" in rows_of(app)
        await pilot.press("o")
        await until(pilot, lambda: "rank 3" not in rows_of(app))
