"""A box over the screen in front, all keys its own: an action's plan, a choice, a question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from hangtop.panes.line import LineView
from hangtop.panes.view import View

if TYPE_CHECKING:
    from hangtop.app import HangtopApp


class BoxScreen(ModalScreen[None]):
    DEFAULT_CSS = """
    BoxScreen { align: center middle; background: $background 60%; }
    BoxScreen #box { width: 92%; height: auto; border: heavy $accent; background: $surface; padding: 1 2; }
    BoxScreen.ascii #box { border: ascii $accent; }
    """

    @property
    def hangtop(self) -> HangtopApp:
        """The app with its own type."""
        return cast("HangtopApp", self.app)

    def parts(self) -> Iterable[LineView]:
        """What is in the box, from above."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        self.set_class(self.hangtop.ascii, "ascii")
        with Vertical(id="box"):
            yield from self.parts()

    def on_mount(self) -> None:
        self.show(self.hangtop.view)

    def on_resize(self) -> None:
        self.show(self.hangtop.view)

    def show(self, view: View) -> None:
        if self.is_mounted:
            for part in self.query(LineView):
                part.show(view)
