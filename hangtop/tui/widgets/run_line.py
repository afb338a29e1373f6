"""The line in which another run is named: a recording or a log."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input


class RunLine(Input):
    """`asks`: what stands there while it is empty. Esc leaves it."""

    class Left(Message):
        """No run was named."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "leave")]

    DEFAULT_CSS = """
    RunLine, RunLine:focus { height: 1; border: none; padding: 0 1; background: $panel; color: $foreground; }
    """

    def __init__(self, asks: str) -> None:
        super().__init__(id="run", compact=True, select_on_focus=False, placeholder=asks)
        self.cursor_blink = False

    def action_leave(self) -> None:
        self.post_message(self.Left())
