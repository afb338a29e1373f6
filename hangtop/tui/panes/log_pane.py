"""Pane 6: the log. It follows, scrolls back through the whole file, filters, searches, and jumps to a line."""

from __future__ import annotations

import re
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input

from hangtop.common.text import some
from hangtop.records.log import PageReading
from hangtop.render.log.log_goal import goal_of
from hangtop.render.log.log_merge import Place, place_of
from hangtop.render.log.log_query import LogQuery
from hangtop.render.log.log_rows import LineLook, head_right, head_summary, log_rows
from hangtop.render.log.log_view_model import LogViewModel
from hangtop.render.spans import Row
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.bindings import local
from hangtop.tui.panes.pane import Pane
from hangtop.tui.widgets.layout import PaneNeed
from hangtop.tui.widgets.typed_before import TypedBefore

SHIFT_CELLS = 20
MOST_KEPT = 50
"""Filters that Up brings back."""


class LogPane(Pane):
    """Takes the room that other panes leave. Without room for a head it is the tail of the log."""

    id_, title = "log", "Log"
    BINDINGS: ClassVar[list[BindingType]] = local(
        up="scroll(-1)",
        down="scroll(1)",
        page_up="scroll_page(-1)",
        page_down="scroll_page(1)",
        fold="scroll_page(1)",
        first="start",
        last="app.follow",
        left="shift(-1)",
        right="shift(1)",
        wrap="wrap",
        ink="ink",
        mark="mark",
        next_mark="next_mark",
    )

    def __init__(self) -> None:
        super().__init__()
        self.model = LogViewModel(lambda ask: self.hangtop.feed.ask(ask))
        self.shift = 0
        self.wraps = self.inked = False
        self.marks: list[Place] = []

    @property
    def search(self) -> LogQuery:
        return self.model.search

    def want(self, view: View, width: int) -> PaneNeed:
        return PaneNeed(1_000)

    def body(self, view: View, width: int, height: int) -> list[Row]:
        self.model.take_tail(view.state)
        look = LineLook(self.shift, self.wraps, self.inked)
        top = self.head(head_summary(view, self.model), width, head_right(self.model))
        return [top, *log_rows(view, self.model, width, height - 1, look, self.marks)]

    def alarm(self, view: View) -> tuple[str, str] | None:
        silent = view.verdict is not None and view.verdict.state.silent
        return ("silent", "bad") if silent else None

    def take_page(self, page: PageReading) -> None:
        self.model.take_page(page, self._room(), self.hangtop.state)

    def look_for(self, sought: LogQuery) -> None:
        self.model.said = ""
        self.model.look_for(sought, self.hangtop.state)
        self.hangtop.repaint()

    def jump(self, place: Place) -> None:
        self.model.said = ""
        self.model.jump(place, self._room(), self.hangtop.state)
        self.hangtop.repaint()

    def find(self, direction: int) -> None:
        self.model.find(direction, self._room())
        self.hangtop.repaint()

    def follow(self) -> None:
        self.model.said = ""
        self.shift = 0
        self.model.follow(self.hangtop.state)
        self.hangtop.repaint()

    def choose_file(self, by: int) -> None:
        """All files merged, then each one alone."""
        files = len(self.hangtop.state.log.files) if self.hangtop.state.log else 0
        if files < 2:
            return
        now = -1 if self.model.sought.file is None else self.model.sought.file
        after = (now + 1 + by) % (files + 1) - 1
        sought = self.model.sought
        self.look_for(LogQuery(sought.pattern, sought.regex, sought.notable, None if after < 0 else after))

    def action_scroll(self, by: int) -> None:
        self.model.scroll(by, self._room(), self.hangtop.state)
        self.hangtop.repaint()

    def action_scroll_page(self, pages: int) -> None:
        self.action_scroll(pages * max(1, self._room() - 1))

    def action_start(self) -> None:
        self.model.to_start(self.hangtop.state)
        self.hangtop.repaint()

    def action_shift(self, by: int) -> None:
        self.shift = max(0, self.shift + by * SHIFT_CELLS)
        self.hangtop.repaint()

    def go_to(self, typed: str) -> None:
        """What was typed after `J`."""
        goal = goal_of(typed, self.hangtop.view)
        if isinstance(goal, str):
            self.model.said = goal
        elif goal.end:
            self.follow()
        else:
            self.model.go_to(goal, self._room(), self.hangtop.state)
        self.hangtop.repaint()

    def action_wrap(self) -> None:
        """Long lines go on in the next row, or are cut."""
        self.wraps, self.shift = not self.wraps, 0
        self.hangtop.repaint()

    def action_ink(self) -> None:
        """Lines in the colours that their program gave them, or by their kind."""
        if self.app.no_color:
            self.model.said = say("NO_COLOR is set: no colours")
        else:
            self.inked = not self.inked
            self.model.said = say("its own colours") if self.inked else ""
        self.hangtop.repaint()

    def action_mark(self) -> None:
        """Mark the line that was jumped to, else the first in view, of a log that is followed the last; again: no more."""
        place = self._here()
        if place is not None:
            self.marks = [each for each in self.marks if each != place] if place in self.marks else sorted([*self.marks, place])
            self.model.said = say(f"{some(len(self.marks), 'mark')}") if self.marks else ""
            self.hangtop.repaint()

    def action_next_mark(self) -> None:
        """The next marked line, after the last one the first."""
        if not self.marks:
            key = self.hangtop.keymap.shown("mark")
            self.model.said = say(f"no line is marked: {key} marks one")
            self.hangtop.repaint()
            return
        here = self._here() or (0, 0)
        self.jump(next((place for place in self.marks if place > here), self.marks[0]))

    def _here(self) -> Place | None:
        lines = [line for line in self.model.visible(self._room()) if line.kind != "border" and line.offset >= 0]
        if self.model.target is not None:
            return self.model.target
        return place_of(lines[-1 if self.model.following else 0]) if lines else None

    def wheel(self, rows: int) -> None:
        self.action_scroll(rows)

    def _room(self) -> int:
        return max(1, self.size.height - (0 if self.headless else 1))


class FilterPrompt(Input):
    """The prompt for a filter. Tab switches between text and regex, Enter filters, Esc gives up."""

    DEFAULT_CSS = """
    FilterPrompt, FilterPrompt:focus { height: 1; border: none; padding: 0 1; background: $panel; color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "leave"),
        ("tab", "regex", "regex"),
        ("up", "past(-1)", "typed before"),
        ("down", "past(1)", "typed after"),
    ]

    class Typed(Message):
        """`pattern`: `None` if the person gave up. `problem`: why it cannot be used."""

        def __init__(self, pattern: str | None, *, regex: bool, problem: str = "") -> None:
            super().__init__()
            self.pattern = pattern
            self.regex = regex
            self.problem = problem

    def __init__(self) -> None:
        super().__init__(id="prompt", compact=True, select_on_focus=False)
        self.cursor_blink = False
        self.regex = self._plain = False
        self._asks = ""
        self._past: dict[str, TypedBefore[tuple[str, bool]]] = {}

    def open(self, sought: LogQuery, *, plain: bool = False, asks: str = "") -> None:
        """Shows the last pattern, selected, so that typing replaces it. `plain`: text only. `asks`: what is wanted in place of a
        filter. Up brings back what was typed here before."""
        self.value, self.regex, self._plain, self._asks = sought.pattern or "", sought.regex, plain, asks
        self._before.start()
        self.select_all()
        self._name_kind()

    @property
    def _before(self) -> TypedBefore[tuple[str, bool]]:
        return self._past.setdefault(self._asks or str(self._plain), TypedBefore([]))

    def action_past(self, by: int) -> None:
        self.value, self.regex = self._before.go(by, (self.value, self.regex))
        self.cursor_position = len(self.value)

    def action_regex(self) -> None:
        if self._plain:
            return
        self.regex = not self.regex
        self._name_kind()
        self.post_message(self.Typed(None, regex=self.regex, problem="regex" if self.regex else "text"))

    def action_leave(self) -> None:
        self.post_message(self.Typed(None, regex=self.regex))

    async def action_submit(self) -> None:
        problem = ""
        if self.regex:
            try:
                re.compile(self.value)
            except re.error as error:
                problem = say(f"not a regex: {error}")
        if self.value and not problem:
            kept = [each for each in self._before.entries if each[0] != self.value]
            self._before.entries[:] = [*kept, (self.value, self.regex)][-MOST_KEPT:]
        self.post_message(self.Typed(self.value, regex=self.regex, problem=problem))

    def _name_kind(self) -> None:
        filters = "text" if self._plain else "regex, Tab: text" if self.regex else "text, Tab: regex"
        self.placeholder = say(self._asks or filters)
