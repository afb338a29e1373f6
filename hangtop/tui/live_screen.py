"""A screen that goes on while the run does: the watch screen, and each page over it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from textual.screen import Screen
from textual.widget import Widget

from hangtop.render.view import View
from hangtop.tui.selection import Selection
from hangtop.tui.shell import Shell
from hangtop.tui.widgets.partial_update import SpanCompositor
from hangtop.tui.widgets.row_widget import RowWidget


class LiveScreen(Screen[None]):
    """Goes to the terminal only once its parts have painted: Textual would show it empty first, and fill it a moment later."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SpanCompositor()
        self._painted = self._moved = False

    @property
    def hangtop(self) -> Shell:
        """The app, as its parts know it."""
        return cast("Shell", self.app)

    def on_resize(self) -> None:
        self.show(self.hangtop.view)

    @property
    def parts_shown(self) -> Iterable[Widget]:
        """Where its line views are to be found."""
        return self.children

    def show(self, view: View) -> None:
        """Let each part that is in sight paint. A screen that opens has no parts yet, one that closes none any more."""
        if not self.is_mounted or not self.size.width or not self.children:
            return
        self._moved = self.place(view)
        for part in self.parts_shown:
            if isinstance(part, RowWidget) and part.display:
                part.show(view)
        if not self._painted:
            self._painted = True
            self.refresh()

    def flush(self) -> None:
        """The terminal shows at once what was painted: Textual's own way wakes up twice more for it, each second. Where parts are
        on their way to other places that is left to Textual, and where a key shows several things one after the other."""
        if self._painted and not self._moved:
            self._on_timer_update()

    def place(self, view: View) -> bool:
        """Put the parts where they belong, on a screen where that depends on what is shown. True when anything has moved."""
        return False

    @property
    def selection(self) -> Selection | None:
        """What an action key acts on here; `None`: what is chosen on the watch screen."""
        return None

    def ask_filter(self, *, opened: bool) -> None:
        """Show or hide the line where a filter is typed, on a screen that has one."""

    def _compositor_refresh(self) -> None:
        if self._painted:
            super()._compositor_refresh()
