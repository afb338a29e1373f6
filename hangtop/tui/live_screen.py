"""A screen that follows the run: the watch screen, pages and dialogs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.errors import NoWidget
from textual.events import MouseMove
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from hangtop.render.view import View
from hangtop.tui.selection import Selection
from hangtop.tui.widgets.row_widget import HintLine, RowWidget, SpanCompositor

if TYPE_CHECKING:  # the first paint does without it
    from hangtop.tui.shell import Shell


HINT_S = 6.0
"""Then the keys are there again, though the mouse has not moved."""


class LiveScreen(Screen[None]):
    """Appears once its widgets have painted; Textual would show it empty first."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SpanCompositor()
        self._painted = self._moved = False
        self.hinted = ""
        """What is told of the place under the mouse, in the line of keys."""
        self._forget: Timer | None = None

    @property
    def hangtop(self) -> Shell:
        return cast("Shell", self.app)

    def on_resize(self) -> None:
        self.show(self.hangtop.view)

    def on_mouse_move(self, event: MouseMove) -> None:
        """Tell what is under the mouse, where that helps."""
        self.hint(self.told_at(int(event.screen_x), int(event.screen_y)))

    def told_at(self, x: int, y: int) -> str:
        """What is at this cell, in a word; empty where that needs none."""
        try:
            widget, place = self.get_widget_at(x, y)
        except NoWidget:
            return ""
        return widget.told(x - place.x, y - place.y) if isinstance(widget, RowWidget) else ""

    def hint(self, words: str) -> None:
        """Show this in place of the keys, for as long as it is read; nothing brings the keys back."""
        if self._forget is not None:
            self._forget.stop()
        self._forget = self.set_timer(HINT_S, partial(self.hint, "")) if words else None
        if words != self.hinted:
            self.hinted = words
            for part in self.parts_shown:
                if isinstance(part, HintLine) and part.display:
                    part.show(self.hangtop.view)

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
