"""A pane in which a row can be chosen by keys, click and wheel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click

from hangtop.render.spans import Row, dotted
from hangtop.tui.panes.pane import Pane


class SelectablePane(Pane):
    """The choice is a thing (rank, process, actor), so it stays when the order changes.

    A line is a place among all rows, also those out of sight. `painted`: the line at each row of the widget; `None` where nothing
    can be chosen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "choose(-1)", "choose"),
        ("down", "choose(1)", "choose"),
        ("pageup", "choose(-10)", "choose"),
        ("pagedown", "choose(10)", "choose"),
        ("home", "choose(-100000)", "choose"),
        ("end", "choose(100000)", "choose"),
        ("enter", "open", "detail"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.top = 0
        self.painted: tuple[int | None, ...] = ()

    def choosable(self) -> Sequence[int]:
        """The lines that can be chosen."""
        raise NotImplementedError

    def chosen_line(self) -> int | None:
        raise NotImplementedError

    def choose_line(self, line: int) -> None:
        raise NotImplementedError

    def action_open(self) -> None:
        """Enter, or a click on the chosen row. By default the page of the chosen rank."""
        self.hangtop.action_detail()

    def in_sight(self, room: int, total: int) -> slice:
        """The lines to paint, scrolled as little as the choice needs."""
        self.top = kept_in_sight(self.top, self.chosen_line(), room, total)
        return slice(self.top, min(self.top + room, total))

    def action_choose(self, by: int) -> None:
        """Move the choice; without one, begin at the top."""
        lines = self.choosable()
        if not lines:
            return
        now = self.chosen_line()
        place = max(0, min((-1 if now is None else lines.index(now)) + by, len(lines) - 1))
        self.choose_line(lines[place])
        self.hangtop.repaint()

    def on_click(self, event: Click) -> None:
        """Choose the row, or open it if it is chosen, and make this the active pane."""
        self.hangtop.activate(self.id_)
        place = event.y + (1 if self.headless else 0)
        line = self.painted[place] if place < len(self.painted) else None
        if line is None or line not in self.choosable():
            return
        again = self.chosen_line() == line
        self.choose_line(line)
        self.hangtop.repaint()
        if again:
            self.action_open()

    def wheel(self, rows: int) -> None:
        self.action_choose(rows)


def kept_in_sight(top: int, chosen: int | None, room: int, total: int) -> int:
    """The first line to show."""
    if chosen is not None:
        top = min(chosen, max(top, chosen - room + 1))
    return max(0, min(top, total - room))


def told_at_right(seen: slice, total: int, *, pattern: str = "", order: str = "") -> Row:
    """At the right of the head: filter, order, and what part is in sight: `by cpu · 1-10 of 32`."""
    return dotted(
        [
            ((f"with “{pattern}”", "accent"),) if pattern else (),
            ((f"by {order}", "accent"),) if order else (),
            ((f"{seen.start + 1}-{seen.stop} of {total:,}", "muted"),) if seen.stop - seen.start < total else (),
        ]
    )
