"""Where this run left a good one: a recording or a log that a person names. A child process compares them."""

from __future__ import annotations

import os
from pathlib import Path

from textual.app import ComposeResult
from textual.widgets import Input

from hangtop.query.requests import ChildAnswer, DiffAsk
from hangtop.render.spans import Row, folded
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.background_work import answered
from hangtop.tui.keys import PAGE_KEYS
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.seen_here import logs_here, seen_here
from hangtop.tui.widgets.diff_rows import diff_rows
from hangtop.tui.widgets.run_line import RunLine


class DiffScreen(PageScreen):
    """`good`: a file; where it is empty, a line asks for it. `bad`: a file, else what this hangtop has seen."""

    keys = PAGE_KEYS

    def __init__(self, good: str = "", bad: str = "") -> None:
        super().__init__()
        self._good, self._bad = good, bad
        self._answer: ChildAnswer | None = None

    def compose(self) -> ComposeResult:
        head, body, foot = super().compose()
        yield head
        yield body
        if not self._good:
            yield RunLine(say("a recording or a log of a good run"))
        yield foot

    def on_mount(self) -> None:
        if self._good:
            self._compare()
        else:
            self.set_focus(self.query_one(RunLine), scroll_visible=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if typed := event.value.strip():
            self._good, self._answer = os.path.expanduser(typed), None
            self.set_focus(self.body, scroll_visible=False)
            self._compare()
            self.show(self.hangtop.view)

    async def on_run_line_left(self) -> None:
        """Without a good run there is nothing on this page."""
        await self.hangtop.action_back()

    def head(self, view: View) -> Row:
        return ((say(f"beside {Path(self._good).name}" if self._good else "beside a good run"), "muted"),)

    def rows(self, view: View, width: int) -> list[Row]:
        answer = self._answer
        if answer is None:
            return [((say("comparing …"), "muted"),)] if self._good else []
        if answer.differences is None:
            return folded(((answer.problem, "bad"),), width, 2)
        return [*(((note, "warn"),) for note in answer.notes), *diff_rows(answer.differences, width)]

    def _compare(self) -> None:
        self.run_worker(self._ask(), name="compare", group="compare", exclusive=True)

    async def _ask(self) -> None:
        app = self.hangtop
        data, files = (b"", ()) if self._bad else (seen_here(app), logs_here(app))
        self._answer = await answered(DiffAsk(self._good, self._bad, files, app.spec.config_dir), data)
        self.show(app.view)
