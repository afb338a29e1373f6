"""The numbers of the whole run as charts, with a cursor to read them. A child process reads them from logs and what was seen."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual.binding import BindingType
from textual.timer import Timer
from textual.widgets import Input

from hangtop.query.requests import ChildAnswer, Course, CoursesAsk
from hangtop.render.course_rows import OVER, Curve, Window, course_rows, laid_over, readout
from hangtop.render.spans import Row, folded
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.background_work import answered
from hangtop.tui.bindings import bindings
from hangtop.tui.keys import CHARTS_PAGE, PAGE_KEYS
from hangtop.tui.pages.page import PageFoot, PageScreen
from hangtop.tui.seen_here import logs_here, seen_here
from hangtop.tui.widgets.run_line import RunLine

AGAIN_S, TIMES = 20.0, 20.0
"""It is read again after so long, or so many times what it took, whichever is more."""
STEP = 1 / 100
"""Of what is in view: how far the cursor goes at a time."""


class ChartsScreen(PageScreen):
    """Arrows to the side move the cursor, `+` and `-` look closer and wider around it. `other`: a recording or a log of another
    run, laid over this one."""

    keys = (*CHARTS_PAGE, *PAGE_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(CHARTS_PAGE)

    def __init__(self, other: str = "") -> None:
        super().__init__()
        self._other = other
        self._by_rank, self._metric = 0, ""
        self._late: tuple[Curve, ...] = ()
        self._again: Timer | None = None
        self._answer: ChildAnswer | None = None
        self._curves: tuple[Curve, ...] = ()
        self._window = Window()

    def on_mount(self) -> None:
        self._read()

    def head(self, view: View) -> Row:
        where = readout(self._curves, self._window)
        if self._metric:
            where = (*where, ("   ", ""), (say(f"{self._metric} by rank, the odd ones first"), "ink"))
        if not self._other:
            return where if self._metric else (*where, ("   ", ""), (say("the numbers of the whole run"), "muted"))
        return (*where, ("   ", ""), (f"{OVER} {Path(self._other).name}", "warn"))

    def rows(self, view: View, width: int) -> list[Row]:
        if self._answer is None:
            return [((say("drawing …"), "muted"),)]
        if self._answer.problem:
            return folded(((self._answer.problem, "ink"),), width, 2)
        notes = [row for note in self._answer.notes for row in folded(((note, "warn"),), width, 2)] if self._other else []
        return [*notes, *course_rows(self._curves, self._window, width, self._late)]

    def action_cursor(self, by: int) -> None:
        self._look(self._window.moved(by * STEP))

    def action_zoom(self, factor: float) -> None:
        self._look(self._window.zoomed(factor))

    def open(self) -> None:
        """The next of the numbers that several ranks tell, rank by rank; after the last all numbers again."""
        self._by_rank += 1
        self._answer = None
        self._read()
        self.show(self.hangtop.view)

    async def action_lay_over(self) -> None:
        """Ask for another run, in a line of its own."""
        if not self.query(RunLine):
            await self.mount(RunLine(say("a recording or a log of another run; empty: none")), before=self.query_one(PageFoot))
        self.set_focus(self.query_one(RunLine), scroll_visible=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        typed = event.value.strip()
        self._other = os.path.expanduser(typed)
        self._answer, self._window = None, Window()
        self.query_one(RunLine).remove()
        self.set_focus(self.body, scroll_visible=False)
        self._read()
        self.show(self.hangtop.view)

    def on_run_line_left(self) -> None:
        self.query_one(RunLine).remove()
        self.set_focus(self.body, scroll_visible=False)

    def _look(self, window: Window) -> None:
        self._window = window
        self.show(self.hangtop.view)

    def _read(self) -> None:
        if self._again is not None:
            self._again.stop()
        self.run_worker(self._ask(), name="charts", group="charts", exclusive=True)

    async def _ask(self) -> None:
        app, began = self.hangtop, monotonic()
        answer = await answered(CoursesAsk(logs_here(app), app.spec.config_dir, self._other, self._by_rank), seen_here(app))
        if not answer.problem or self._answer is None:
            self._answer, self._metric = answer, answer.metric
            self._by_rank = self._by_rank if answer.metric else 0
            mine, theirs, late = ([*map(_curve, some)] for some in (answer.courses, answer.others, answer.late))
            self._curves = laid_over(mine, theirs) if theirs else tuple(mine)
            self._late = laid_over(late, ()) if theirs else tuple(late)
        self.show(app.view)
        if app.replay is None and not answer.problem:
            self._again = self.set_timer(max(AGAIN_S, TIMES * (monotonic() - began)), self._read)


def _curve(course: Course) -> Curve:
    return Curve(course.name, course.points, course.from_zero)
