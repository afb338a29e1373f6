"""A screen that follows the run: the watch screen, pages and dialogs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from hangtop.render.view import View
from hangtop.tui.selection import Selection
from hangtop.tui.widgets.row_widget import RowWidget, SpanCompositor

if TYPE_CHECKING:  # the first paint does without it
    from hangtop.tui.shell import Shell


class LiveScreen(Screen[None]):
    """Appears once its widgets have painted; Textual would show it empty first."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SpanCompositor()
        self._painted = self._moved = False

    @property
    def hangtop(self) -> Shell:
        return cast("Shell", self.app)

    def on_resize(self) -> None:
        self.show(self.hangtop.view)

    @property
    def parts_shown(self) -> Iterable[Widget]:
        return self.children

    def show(self, view: View) -> None:
        """Paint all visible widgets. A screen that opens has none yet, one that closes none any more."""
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
        """Write painted cells to the terminal now, which saves the two wake-ups of Textual's own way each second. Textual does it
        while widgets move, or while a key changes several things."""
        if self._painted and not self._moved:
            self._on_timer_update()

    def place(self, view: View) -> bool:
        """Move the widgets to where this view wants them; true if any moved."""
        return False

    @property
    def selection(self) -> Selection | None:
        """What an action key acts on here; `None`: what is chosen on the watch screen."""
        return None

    @property
    def typing(self) -> bool:
        """Letters are text here, not keys."""
        return isinstance(self.focused, Input)

    def ask_filter(self, *, opened: bool) -> None:
        """Open or close the filter prompt, on a screen that has one."""

    def _compositor_refresh(self) -> None:
        if self._painted:
            super()._compositor_refresh()
