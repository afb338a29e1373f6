"""The whole run on one axis of time. A child process draws it from what was seen, again and again while the page is open."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar

from textual.binding import BindingType

from hangtop.common import text
from hangtop.query.requests import ChildAnswer, TimelineAsk
from hangtop.render.spans import Row, folded
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.background_work import answered
from hangtop.tui.bindings import bindings
from hangtop.tui.keys import PAGE_KEYS, TIMELINE_PAGE
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.seen_here import logs_here, seen_here
from hangtop.tui.widgets.timeline_rows import TextTimeline

AGAIN_S, TIMES = 10.0, 10.0
"""It is drawn again after so long, or so many times what it took, whichever is more: a long log is read each time."""


class TimelineScreen(PageScreen):
    """Verdicts, stages, pauses, steps, events, and what each rank did; `o` puts the ranks of a machine into one row."""

    keys = (*TIMELINE_PAGE, *PAGE_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(TIMELINE_PAGE)

    def __init__(self) -> None:
        super().__init__()
        self._answer: ChildAnswer | None = None
        self._drawn: tuple[int, bool, list[Row]] | None = None
        self._by_host = False

    def on_mount(self) -> None:
        self._draw()

    def head(self, view: View) -> Row:
        run = self._answer.run if self._answer is not None else None
        lasted = "" if run is None else say(f", {text.duration(run.end - run.begin)}")
        return ((say("the whole run") + lasted, "muted"),)

    def rows(self, view: View, width: int) -> list[Row]:
        answer = self._answer
        if answer is None:
            return [((say("drawing …"), "muted"),)]
        if answer.run is None:
            return folded(((say(f"There is no axis of time: {answer.problem}"), "ink"),), width, 2)
        if self._drawn is None or self._drawn[:2] != (width, self._by_host):
            self._drawn = width, self._by_host, TextTimeline(answer.run, width, by_host=self._by_host).rows()
        return self._drawn[2]

    def action_group(self) -> None:
        self._by_host = not self._by_host
        self.show(self.hangtop.view)

    def _draw(self) -> None:
        self.run_worker(self._ask(), name="timeline", group="timeline")

    async def _ask(self) -> None:
        app, began = self.hangtop, monotonic()
        answer = await answered(TimelineAsk(logs_here(app), app.spec.config_dir), seen_here(app))
        if answer.run is not None or self._answer is None:
            self._answer, self._drawn = answer, None
        self.show(app.view)
        if app.replay is None:
            self.set_timer(max(AGAIN_S, TIMES * (monotonic() - began)), self._draw)
