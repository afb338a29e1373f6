"""Panes are sized and moved, by mouse and keys, and stay so for the project; what is under the mouse is told."""

from __future__ import annotations

import pytest
from textual.events import MouseMove

from hangtop.records.watch_spec import WatchSpec
from hangtop.tui.pane_choice import PaneChoice, pane_choice
from tests.app.play import on_screen, screen_text, settle, until


def places(app):
    return {pane.id_: pane.region for pane in app.watch_screen.panes if pane.display}


async def drag(pilot, app, start, end):
    """With the button held, which `Pilot.hover` does not know."""
    await pilot.mouse_down(offset=start)
    app.watch_screen.on_mouse_move(MouseMove(app.watch_screen, *end, 0, 0, 1, False, False, False, *end))
    await pilot.mouse_up(offset=end)
    await settle(pilot, app)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_gap_below_a_pane_is_dragged_and_keys_do_the_same(size, tmp_path):
    spec = WatchSpec(logs=(str(tmp_path / "train.log"),))
    async with on_screen("healthy", size=size, panes=pane_choice(spec)) as (app, pilot, *_):
        ranks, log = places(app)["ranks"], places(app)["log"]
        await drag(pilot, app, (20, log.y - 1), (20, log.y - 4))  # above the log, below panes that have nothing to show
        assert places(app)["ranks"].height == ranks.height - 3
        assert places(app)["log"].height == log.height + 3
        await until(pilot, lambda: "ranks" in pane_choice(spec).lines)
        await pilot.press("2", "plus")
        await settle(pilot, app)
        assert places(app)["ranks"].height == ranks.height - 2
        await pilot.press("0")
        await settle(pilot, app)
        assert places(app)["ranks"] == ranks
        await until(pilot, lambda: not pane_choice(spec).lines)


async def test_a_pane_that_has_the_whole_screen_has_no_size_to_change():
    async with on_screen("healthy", size=(120, 40)) as (app, pilot, *_):
        await pilot.press("2", "2", "plus", "minus")
        await settle(pilot, app)
        assert app.watch_screen.enlarged
        assert not app.watch_screen.chosen.lines


async def test_the_gap_between_two_panes_is_dragged_and_keys_do_the_same(tmp_path):
    spec = WatchSpec(logs=(str(tmp_path / "train.log"),))
    async with on_screen("fleet_hung", size=(120, 40), panes=pane_choice(spec)) as (app, pilot, *_):
        ranks, gpus = places(app)["ranks"], places(app)["gpus"]
        await drag(pilot, app, (ranks.right + 1, ranks.y + 2), (ranks.right - 9, ranks.y + 2))
        assert places(app)["gpus"].width == gpus.width + 10 - 1
        await pilot.press("3", "shift+right")
        await settle(pilot, app)
        assert places(app)["gpus"].width == gpus.width + 10 - 1 - 2
        await until(pilot, lambda: pane_choice(spec).left is not None)
    async with on_screen("fleet_hung", size=(120, 40), panes=pane_choice(spec)) as (app, *_):
        assert places(app)["gpus"].width == gpus.width + 10 - 1 - 2


async def test_panes_are_moved_by_keys_and_by_their_heads():
    async with on_screen("fleet_hung", size=(120, 40)) as (app, pilot, *_):
        usual = places(app)
        await pilot.press("3", "left_curly_bracket")
        await settle(pilot, app)
        assert places(app)["gpus"].x < places(app)["ranks"].x
        await drag(pilot, app, (usual["log"].x + 3, usual["log"].y), (5, usual["ranks"].y + 3))
        assert places(app)["log"].y == usual["ranks"].y
        assert places(app)["log"].bottom < places(app)["gpus"].y
        await pilot.press("0")
        await settle(pilot, app)
        assert places(app) == usual


async def test_tabs_are_in_the_order_that_was_chosen():
    chosen = PaneChoice(order=("log", "gpus"))
    async with on_screen("healthy", size=(80, 24), panes=chosen) as (app, *_):
        tabs = next(line for line in screen_text(app).splitlines() if " 2 Ranks" in line)
        assert sorted("23456", key=lambda key: tabs.index(f" {key} ")) == ["6", "3", "2", "4", "5"]


async def test_what_is_under_the_mouse_is_told_in_place_of_the_keys_and_goes_again():
    async with on_screen("fleet_hung", size=(120, 40)) as (app, pilot, *_):

        async def foot(x, y):
            await pilot.hover(offset=(x, y))
            await settle(pilot, app)
            return screen_text(app).splitlines()[-1]

        keys = await foot(5, 39)
        ranks, gpus = places(app)["ranks"], places(app)["gpus"]
        assert "rank " in (told := await foot(5, ranks.y + 2))
        assert "quiet " in told
        assert "GiB" in await foot(gpus.x + 5, gpus.y + 3)
        assert "may be quiet for" in await foot(app.watch_screen.query_one("#stages").text().index("▸") + 3, 1)
        assert "drag: the height" in await foot(20, ranks.bottom)
        assert "drag: the width" in await foot(ranks.right + 1, ranks.y + 1)
        assert await foot(5, 39) == keys


async def test_a_cell_of_the_heat_grid_tells_its_rank_and_a_click_chooses_it():
    async with on_screen("many", size=(120, 40), calm=True) as (app, pilot, *_):
        lines = screen_text(app).splitlines()
        y = next(y for y, line in enumerate(lines) if "n16 " in line)
        at = (lines[y].index("n16 ") + 4 + 2, y)
        await pilot.hover(offset=at)
        await settle(pilot, app)
        assert " rank 130 · n16" in screen_text(app).splitlines()[-1]
        await pilot.click(offset=at)
        await settle(pilot, app)
        assert app.watch_screen.ranks_pane.chosen == 130
        await pilot.click(offset=(10, next(y for y, line in enumerate(lines) if "▸  155" in line)))
        await settle(pilot, app)
        assert app.watch_screen.ranks_pane.chosen == 155
