"""A pane in which one row may be chosen, by keys, by click and by wheel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click

from hangtop.render.spans import Row, dotted
from hangtop.tui.panes.pane import Pane


class SelectablePane(Pane):
    """The choice is a thing (a rank, a process, an actor), not a line: it stays with it when the order changes.

    A line is the place of a row among all of them, also those out of sight. `painted`: the line at each row of the widget, its
    head among them; `None` where nothing can be chosen.
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
        """The lines that may be chosen."""
        raise NotImplementedError

    def chosen_line(self) -> int | None:
        raise NotImplementedError

    def choose_line(self, line: int) -> None:
        raise NotImplementedError

    def action_open(self) -> None:
        """What Enter does, and a click on the chosen row: by default the page of the chosen rank."""
        self.hangtop.action_detail()

    def in_sight(self, room: int, total: int) -> slice:
        """The lines to paint: as before, moved as little as the chosen one asks for."""
        self.top = kept_in_sight(self.top, self.chosen_line(), room, total)
        return slice(self.top, min(self.top + room, total))

    def action_choose(self, by: int) -> None:
        """Moves the choice; without one the first key comes in from above."""
        lines = self.choosable()
        if not lines:
            return
        now = self.chosen_line()
        place = max(0, min((-1 if now is None else lines.index(now)) + by, len(lines) - 1))
        self.choose_line(lines[place])
        self.hangtop.repaint()

    def on_click(self, event: Click) -> None:
        """Chooses the row; of the chosen one opens what it stands for. Keys mean this pane from then on."""
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
    """The first line to show, moved as little as the chosen one asks for."""
    if chosen is not None:
        top = min(chosen, max(top, chosen - room + 1))
    return max(0, min(top, total - room))


def told_at_right(seen: slice, total: int, *, pattern: str = "", order: str = "") -> Row:
    """At the right edge of the head: what a person asked for, and what part of it is in sight: `by cpu · 1-10 of 32`."""
    return dotted(
        [
            ((f"with “{pattern}”", "accent"),) if pattern else (),
            ((f"by {order}", "accent"),) if order else (),
            ((f"{seen.start + 1}-{seen.stop} of {total:,}", "muted"),) if seen.stop - seen.start < total else (),
        ]
    )
