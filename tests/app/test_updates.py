"""What goes to the terminal in pieces adds up to the screen: a terminal that saw only the updates shows the same."""

from __future__ import annotations

import random

import pyte
import pytest
from msgspec.structs import replace
from textual._compositor import CompositorUpdate
from textual.pilot import Pilot

from hangtop.records.log import LogLine
from hangtop.records.reading import Reading
from hangtop.tui.app import HangtopApp
from tests.app.play import Clock, MemoryFeed, screen_text, session, settle


class Mirrored(HangtopApp):
    """Everything that is displayed is also written to a terminal in memory."""

    mirror: pyte.Screen
    written = 0

    def _display(self, screen, renderable):
        if isinstance(renderable, CompositorUpdate):
            data = renderable.render_segments(self.console)
            self.written += len(data)
            pyte.Stream(self.mirror).feed(data.replace("\n", "\r\n"))
        super()._display(screen, renderable)

    def shown(self) -> list[str]:
        return [line.rstrip() for line in self.mirror.display]


async def still(pilot: Pilot[None], app: Mirrored) -> None:
    """Until nothing more is painted while the clock stands: on a busy machine the first picture comes in several parts."""
    before = -1
    while app.written != before:
        before = app.written
        await settle(pilot, app)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_updates_add_up_to_the_screen(size, seed):
    dice = random.Random(seed)
    spec, readings, at = session(dice.choice(["healthy", "stalled", "many"]))
    feed, clock = MemoryFeed(readings), Clock(at)
    app = Mirrored(spec, feed, now=clock)
    app.mirror = pyte.Screen(*size)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, app)
        for step in range(15):
            clock.now += dice.choice([0.5, 1, 1, 60])
            await pilot.press(
                dice.choice(["down", "up", "2", "6", "e", "f", "t", "escape", "enter", "question_mark", "tab", "pageup"])
            )
            if dice.random() < 0.5:
                words = dice.choice(["short", "wide 损失 " * 9, "step " * 40, "[/dev/shm] ━━━"])
                line = LogLine(0, 10**6 + step, clock.now, 1, "(W pid=1)", words)
                log = replace(app.state.log, tail=(line,), last_output_at=clock.now, fresh=False)
                feed.put(Reading("log", "n1", clock.now, log))
            await settle(pilot, app)
        await settle(pilot, app)
        assert app.shown() == [line.rstrip() for line in screen_text(app).splitlines()] + [""] * (
            size[1] - len(screen_text(app).splitlines())
        )


async def test_a_tick_of_the_badge_writes_a_few_bytes():
    spec, readings, at = session("healthy")
    clock = Clock(at)
    app = Mirrored(spec, MemoryFeed(readings), now=clock)
    app.mirror = pyte.Screen(120, 40)
    async with app.run_test(size=(120, 40)) as pilot:
        await still(pilot, app)
        before = app.written
        clock.now += 1
        await settle(pilot, app)
        assert 0 < app.written - before < 100
