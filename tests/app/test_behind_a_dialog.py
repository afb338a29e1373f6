"""A box lies over the screen: what is to be seen around it goes on, and a verdict that changes meanwhile is noticed."""

from __future__ import annotations

import pyte
from test_updates import Mirrored

from hangtop.tui.open_action import QuitScreen
from tests.app.play import Clock, MemoryFeed, session, settle


async def test_the_badge_around_a_box_ticks_and_turns():
    spec, readings, at = session("healthy", without="procs")
    clock = Clock(at)
    app = Mirrored(spec, MemoryFeed(readings), now=clock, calm=True)
    app.mirror = pyte.Screen(120, 40)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        app.push_screen(QuitScreen(app))
        await settle(pilot, app)
        before = app.shown()
        assert "RUNNING" in before[0]
        assert any("Leave it running" in line for line in before)
        assert not any(" now " in line for line in before)

        clock.now += 2
        await settle(pilot, app)
        assert "RUNNING  quiet" in app.shown()[0]
        assert app.shown()[0] != before[0]

        clock.now += 60  # nobody says any more that the log is read
        await settle(pilot, app)
        assert "BLIND" in app.shown()[0]
        assert any("now ? BLIND" in line for line in app.shown())
        assert any("Leave it running" in line for line in app.shown())
        assert app.shown() == painted(app)


async def test_a_tick_that_finds_a_box_without_its_parts_leaves_it_alone():
    """On a slow machine there is time for one after a box is mounted and before its parts are, or after these have gone."""
    spec, readings, at = session("healthy", without="procs")
    app = Mirrored(spec, MemoryFeed(readings), now=Clock(at), calm=True)
    app.mirror = pyte.Screen(120, 40)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        app.push_screen(QuitScreen(app))
        await settle(pilot, app)
        await app.screen.remove_children()
        app.tick()
        assert "RUNNING" in app.shown()[0]


def painted(app: Mirrored) -> list[str]:
    """All of it, painted anew."""
    whole = pyte.Screen(120, 40)
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    pyte.Stream(whole).feed(update.render_segments(app.console).replace("\n", "\r\n"))
    return [line.rstrip() for line in whole.display]
