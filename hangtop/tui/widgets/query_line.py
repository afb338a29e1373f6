"""The line in which a question is typed: Tab completes, up and down go through those that were asked."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input

from hangtop.query.completion import Completed, complete
from hangtop.translations import say
from hangtop.tui.widgets.typed_before import TypedBefore


class QueryLine(Input):
    """One line. Enter asks, Esc leaves. `asked`: earlier questions, the newest last; it is not changed here."""

    DEFAULT_CSS = """
    QueryLine, QueryLine:focus { height: 1; border: none; padding: 0 1; background: $panel; color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "leave"),
        ("tab", "complete", "complete"),
        ("up", "earlier(-1)", "earlier"),
        ("down", "earlier(1)", "later"),
    ]

    class Typed(Message):
        """`question`: `None` if the person gave up."""

        def __init__(self, question: str | None) -> None:
            super().__init__()
            self.question = question

    def __init__(self, asked: list[str]) -> None:
        super().__init__(
            id="question", compact=True, select_on_focus=False, placeholder=say("SQL, the name of a question, or of a table")
        )
        self.cursor_blink = False
        self._before = TypedBefore(asked)
        self._tabbed = ("", Completed("", 0), 0)

    @property
    def completed(self) -> Completed:
        """What Tab would do now."""
        return complete(self.value, self.cursor_position)

    def action_complete(self) -> None:
        """Complete as far as all choices agree; each further Tab takes the next of them."""
        before, done, nth = self._tabbed
        if self.value == before and done.choices:
            self.value, self.cursor_position = done.chosen(nth)
        else:
            done, nth = self.completed, -1
            self.value, self.cursor_position = done.text, done.cursor
        self._tabbed = (self.value, done, (nth + 1) % max(1, len(done.choices)))

    def action_earlier(self, by: int) -> None:
        self.value = self._before.go(by, self.value)
        self.cursor_position = len(self.value)

    def action_leave(self) -> None:
        self.post_message(self.Typed(None))

    async def action_submit(self) -> None:
        self.post_message(self.Typed(self.value.strip()))
        self._before.start()
