"""Keys, sizes and readings in any order: no exception, no row wider than the screen, and the focus is where a person sees it."""

from __future__ import annotations

import random

import pytest

from hangtop.tui.panes.log_pane import FilterPrompt
from hangtop.tui.widgets.layout import too_small
from tests.app.play import beat, on_screen, screen_text, settle

KEYS = (
    "1 2 3 4 5 6 tab shift+tab up down left right enter escape slash n N e f s w o a t question_mark k c r exclamation_mark R x"
    " z pageup pagedown home end space"
).split()
SIZES = ((120, 40), (80, 24), (60, 15), (40, 10), (200, 60), (100, 30), (1, 1))
ROUNDS = {"many": 5}
"""Of a thousand ranks each round costs five times as much as of eight."""
MOST_ROUNDS, KEYS_A_ROUND = 12, 3


@pytest.mark.parametrize(("name", "seed"), [("healthy", 1), ("stalled", 2), ("crashed", 3), ("many", 4)])
async def test_nothing_breaks_it(name: str, seed: int) -> None:
    """Read-only: what a key may start on this machine is tried elsewhere. Several keys come before the screen is looked at, as
    from a person that types fast."""
    chance = random.Random(seed)
    async with on_screen(name, read_only=True) as (app, pilot, feed, clock):
        for _ in range(ROUNDS.get(name, MOST_ROUNDS)):
            match chance.randrange(4):
                case 0:
                    await pilot.resize_terminal(*chance.choice(SIZES))
                case 1:
                    clock.now += chance.choice((0.1, 1, 30, 600))
                    feed.put(beat(clock.now))
            await pilot.press(*chance.choices(KEYS, k=chance.randint(1, KEYS_A_ROUND)))
            await settle(pilot, app)
            assert app.is_running
            focused = app.screen.focused
            assert focused is None or focused.display or too_small(*app.size)
            assert not (isinstance(focused, FilterPrompt) and too_small(*app.size))
            assert all(len(line) <= app.size.width for line in screen_text(app).splitlines())
