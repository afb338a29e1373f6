"""Bare `hangtop` on a machine with several runs: all of them with their verdicts, live, to choose one."""

from __future__ import annotations

import asyncio
import locale
import os
from collections.abc import Awaitable, Callable
from typing import ClassVar, cast

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Click

from hangtop.common import clock
from hangtop.common.text import speaks_utf8
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.look_at_run import RunLook
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.render.runs_rows import head_row, run_list
from hangtop.render.spans import BLANK, Row, cut
from hangtop.translations import say
from hangtop.tui.bindings import local
from hangtop.tui.keymap import USUAL_KEYS, Keymap
from hangtop.tui.keys import Key
from hangtop.tui.panes.footer import keys_row
from hangtop.tui.themes import load_palettes, pick_palette
from hangtop.tui.widgets.row_widget import PaintedRows, Wheel
from hangtop.tui.widgets.terminal_driver import driver_class

LOOKS_AT_ONCE = 2
AGAIN_S = 10.0
"""A run is looked at anew so long after the end of the look before."""
IDLE_S = 0.5
TICK_S = 1.0
HEAD_ROWS = FOOT_ROWS = 2
PAGE_RUNS = 10
FOOT = (
    Key(shown="↑↓", word="choose", of=("up", "down")),
    Key(shown="Enter", word="watch it", of=("detail",)),
    Key(shown="q", word="quit", of=("quit",)),
)


class RunRows(Wheel, PaintedRows, can_focus=True):
    """The whole screen: head, runs, keys."""

    DEFAULT_CSS = "RunRows { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = local(
        up="choose(-1)",
        down="choose(1)",
        page_up=f"choose(-{PAGE_RUNS})",
        page_down=f"choose({PAGE_RUNS})",
        first="choose(-9999)",
        last="choose(9999)",
    )

    @property
    def runs_app(self) -> RunsApp:
        return cast("RunsApp", self.app)

    def show(self) -> None:
        app, (width, height) = self.runs_app, self.size
        room = max(1, height - HEAD_ROWS - FOOT_ROWS)
        self.listed = run_list(app.runs, app.looks, app.chosen, app.now(), width, room)
        shown: list[Row] = [head_row(app.runs, app.looks, width), BLANK, *self.listed.shown]
        shown += [BLANK] * (height - len(shown) - FOOT_ROWS)
        shown.append(cut(((f" {say(app.note)}", "warn"),), width) if app.note else BLANK)
        self.paint([*shown, ((" ", ""), *keys_row(app.keymap.all_of(FOOT)))])

    def on_resize(self) -> None:
        self.show()

    def action_choose(self, by: int) -> None:
        self.runs_app.choose(self.runs_app.chosen + by)

    def wheel(self, rows: int) -> None:
        self.action_choose(1 if rows > 0 else -1)

    def on_click(self, event: Click) -> None:
        """Choose the run, or open it if it is chosen."""
        number = self.listed.run_at(event.y - HEAD_ROWS)
        if number is None:
            return
        if number == self.runs_app.chosen:
            self.runs_app.action_open()
        else:
            self.runs_app.choose(number)


class RunsApp(App[str]):
    """Ends with the log of the chosen run, or without one. Raises `ThemeError`.

    `feed`: finds the runs. `look`: gives a verdict on the run of a log. `runs`: in the order in which they were met, so that
    none moves under the cursor; one that ended stays, since how it ended is what its person wants to know. `looks`: the newest
    one of each, by log. `note`: what could not be seen.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", show=False, id="detail"),
        Binding("q,escape", "leave", show=False, priority=True, id="quit"),
        Binding("ctrl+c,ctrl+q", "leave", show=False, priority=True),
    ]

    def __init__(
        self,
        feed: Feed,
        look: Callable[[str], Awaitable[RunLook]],
        *,
        runs: tuple[RunCandidate, ...] = (),
        note: str | None = None,
        now: Callable[[], float] = clock.now,
        theme: str | None = None,
        config_dir: str | None = None,
        keymap: Keymap = USUAL_KEYS,
    ) -> None:
        broken: list[str] = []
        palettes = load_palettes(config_dir, broken.append)
        no_color = "NO_COLOR" in os.environ
        self.palette = pick_palette(palettes, theme, no_color=no_color, broken=broken)
        super().__init__(driver_class=driver_class(), ansi_color=True if no_color else None)
        self.register_theme(self.palette.theme())
        self.theme = self.palette.name
        self.ascii = not speaks_utf8(os.environ, locale.getpreferredencoding(False))
        self.feed, self.look, self.now, self.keymap = feed, look, now, keymap
        self.set_keymap(keymap.for_textual)
        self.runs, self.note, self.looks = runs, note, dict[str, RunLook]()
        self.chosen = 0
        self._looked_at: dict[str, float] = {}
        self._under_way: set[str] = set()
        self._disable_tooltips = self._disable_notifications = True

    def compose(self) -> ComposeResult:
        yield RunRows()

    def on_mount(self) -> None:
        self.query_one(RunRows).focus()
        self.set_interval(TICK_S, self.repaint)
        self.run_worker(self._follow(), name="follow")
        for number in range(LOOKS_AT_ONCE):
            self.run_worker(self._look_around(), name=f"look {number}", group="looks")

    def repaint(self) -> None:
        for rows in self.query(RunRows):
            rows.show()

    def choose(self, number: int) -> None:
        self.chosen = max(0, min(number, len(self.runs) - 1))
        self.repaint()

    async def _follow(self) -> None:
        async for reading in self.feed.readings():
            if isinstance(reading.value, RunsReading):
                self.note = reading.value.note
                self._take(reading.value.candidates)

    def _take(self, found: tuple[RunCandidate, ...]) -> None:
        """Known runs keep their places, new ones come behind."""
        by_log = {run.log: run for run in found}
        self.runs = (*(by_log.pop(run.log, run) for run in self.runs), *by_log.values())
        self.repaint()

    async def _look_around(self) -> None:
        """Look at one run after another: one that was never looked at first, then the one whose look is the oldest."""
        while True:
            if (log := self._next()) is None:
                await asyncio.sleep(IDLE_S)
                continue
            self._under_way.add(log)
            try:
                self.looks[log] = await self.look(log)
            finally:
                self._under_way.discard(log)
            self._looked_at[log] = self.now()
            self.repaint()

    def _next(self) -> str | None:
        due = [
            (self._looked_at.get(run.log, 0.0), number, run.log)
            for number, run in enumerate(self.runs)
            if run.log not in self._under_way and self.now() - self._looked_at.get(run.log, 0.0) >= AGAIN_S
        ]
        return min(due)[2] if due else None

    def action_open(self) -> None:
        if self.runs:
            self.feed.close()
            self.exit(self.runs[self.chosen].log)

    def action_leave(self) -> None:
        self.feed.close()
        self.exit()
