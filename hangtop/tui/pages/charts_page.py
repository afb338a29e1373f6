"""The numbers of the whole run as charts, with a cursor to read them. A child process reads them from logs and what was seen."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar

from textual.binding import BindingType

from hangtop.query.requests import ChildAnswer, CoursesAsk
from hangtop.render.course_rows import Curve, Window, course_rows, readout
from hangtop.render.spans import Row, folded
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.background_work import answered
from hangtop.tui.bindings import bindings
from hangtop.tui.keys import CHARTS_PAGE, PAGE_KEYS
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.seen_here import logs_here, seen_here

AGAIN_S, TIMES = 20.0, 20.0
"""It is read again after so long, or so many times what it took, whichever is more."""
STEP = 1 / 100
"""Of what is in view: how far the cursor goes at a time."""


class ChartsScreen(PageScreen):
    """Arrows to the side move the cursor, `+` and `-` look closer and wider around it."""

    keys = (*CHARTS_PAGE, *PAGE_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(CHARTS_PAGE)

    def __init__(self) -> None:
        super().__init__()
        self._answer: ChildAnswer | None = None
        self._curves: tuple[Curve, ...] = ()
        self._window = Window()

    def on_mount(self) -> None:
        self._read()

    def head(self, view: View) -> Row:
        where = readout(self._curves, self._window)
        return (*where, ("   ", ""), (say("the numbers of the whole run"), "muted"))

    def rows(self, view: View, width: int) -> list[Row]:
        if self._answer is None:
            return [((say("drawing …"), "muted"),)]
        if self._answer.problem:
            return folded(((self._answer.problem, "ink"),), width, 2)
        return course_rows(self._curves, self._window, width)

    def action_cursor(self, by: int) -> None:
        self._look(self._window.moved(by * STEP))

    def action_zoom(self, factor: float) -> None:
        self._look(self._window.zoomed(factor))

    def _look(self, window: Window) -> None:
        self._window = window
        self.show(self.hangtop.view)

    def _read(self) -> None:
        self.run_worker(self._ask(), name="charts", group="charts")

    async def _ask(self) -> None:
        app, began = self.hangtop, monotonic()
        answer = await answered(CoursesAsk(logs_here(app), app.spec.config_dir), seen_here(app))
        if not answer.problem or self._answer is None:
            self._answer = answer
            self._curves = tuple(Curve(course.name, course.points, course.from_zero) for course in answer.courses)
        self.show(app.view)
        if app.replay is None and not answer.problem:
            self.set_timer(max(AGAIN_S, TIMES * (monotonic() - began)), self._read)
