"""The tabs of a small terminal: one pane at a time, the others with their alarm."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Click

from hangtop.common.memo import memoized
from hangtop.render.spans import Row, cut, width_of
from hangtop.render.view import View
from hangtop.tui.panes.pane import Pane
from hangtop.tui.widgets.row_widget import RowWidget


def tabs_row(
    tabs: Sequence[tuple[str, str, tuple[str, str] | None]], active: str, width: int
) -> tuple[Row, list[tuple[int, str]]]:
    """The row of `(key, title, alarm)`, and the cell at which each tab ends, with its key."""
    row: Row = ()
    ends: list[tuple[int, str]] = []
    for key, title, alarm in tabs:
        if key == active:
            row = (*row, (f" {key} {title} ", "accent bold reverse"), ("  ", ""))
        else:
            word = ((f" {alarm[0]}", alarm[1]),) if alarm else ()
            row = (*row, (f" {key}", "accent bold"), (f" {title}", "muted"), *word, ("  ", ""))
        ends.append((width_of(row), key))
    return cut(row, width), ends


class Tabs(RowWidget):
    def __init__(self, panes: Sequence[Pane]) -> None:
        super().__init__(id="tabs")
        self._panes = panes
        self._ends: list[tuple[int, str]] = []
        self._alarms = memoized(self._alarms_of)

    def show(self, view: View) -> None:
        alarms = self._alarms(view)
        tabs = [(pane.key, pane.title.split()[0], alarm) for pane, alarm in zip(self._panes, alarms, strict=True)]
        active = next((pane.key for pane in self._panes if pane.id == self.hangtop.active), "")
        row, self._ends = tabs_row(tabs, active, self.size.width)
        self.paint((row,))

    def _alarms_of(self, view: View) -> tuple[tuple[str, str] | None, ...]:
        return tuple(pane.alarm(view) for pane in self._panes)

    def on_click(self, event: Click) -> None:
        key = next((key for end, key in self._ends if event.x < end), None)
        pane = next((pane.id for pane in self._panes if pane.key == key), None)
        if pane:
            self.hangtop.action_pane(pane)
