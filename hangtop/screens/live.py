"""A screen that goes on while the run does: the watch screen, and each page over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from hangtop.panes.view import View
from hangtop.screens.spans import SpanCompositor

if TYPE_CHECKING:
    from hangtop.app import HangtopApp


class LiveScreen(Screen[None]):
    def __init__(self) -> None:
        super().__init__()
        self._compositor = SpanCompositor()

    @property
    def hangtop(self) -> HangtopApp:
        """The app with its own type."""
        return cast("HangtopApp", self.app)

    def show(self, view: View) -> None:
        """Paint what this screen shows of a view."""
        raise NotImplementedError

    def ask_filter(self, *, opened: bool) -> None:
        """Show or hide the line where a filter is typed, on a screen that has one."""
