"""A box over the screen in front, all keys its own: an action's plan, a choice, a question."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from hangtop.panes.line import LineView
from hangtop.screens.live import LiveScreen


class BoxScreen(LiveScreen, ModalScreen[None]):
    """What is around it goes on as well: `HangtopApp.repaint` shows every screen that is in sight."""

    DEFAULT_CSS = """
    BoxScreen { align: center middle; background: $background 60%; }
    BoxScreen #box { width: 92%; height: auto; border: heavy $accent; background: $surface; padding: 1 2; }
    BoxScreen.ascii #box { border: ascii $accent; }
    """

    def parts(self) -> Iterable[LineView]:
        """What is in the box, from above."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        self.set_class(self.hangtop.ascii, "ascii")
        with Vertical(id="box"):
            yield from self.parts()

    @property
    def parts_shown(self) -> Iterable[Widget]:
        return self.query_one("#box").children
