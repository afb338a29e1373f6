"""The lines in which another run is named: Esc leaves them, and the keys are keys again."""

from __future__ import annotations

import pytest

from hangtop.tui.app import HangtopApp
from hangtop.tui.pages.charts_page import ChartsScreen
from hangtop.tui.widgets.run_line import RunLine
from tests.app.play import Clock, MemoryFeed, session, settle


@pytest.mark.parametrize("keys", [("D",), ("D", "x", "q"), ("v", "o", "x")])
async def test_esc_leaves_the_line(keys: tuple[str, ...]) -> None:
    spec, readings, at = session("healthy")
    app = HangtopApp(spec, MemoryFeed(readings), now=Clock(at), calm=True)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot, app)
        await pilot.press(*keys)
        await pilot.pause()
        assert isinstance(app.screen.focused, RunLine)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, ChartsScreen) if keys[0] == "v" else app.screen is app.watch_screen
        assert not app.screen.query(RunLine)
