"""What panes share: a key, a head, how much room they need, rows that can be chosen, a table that can be filtered and sorted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, Protocol, TypeVar, cast

from msgspec.structs import replace
from textual.binding import BindingType
from textual.events import Click

from hangtop.render.log.log_query import LogQuery
from hangtop.render.processes.process_lines import TreeOptions
from hangtop.render.ray.ray_rows import ActorOptions
from hangtop.render.spans import BLANK, Row, align, cut, dotted, folded, head
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.bindings import local
from hangtop.tui.pane_choice import PaneChoice
from hangtop.tui.selection import Selection
from hangtop.tui.widgets.layout import PaneNeed
from hangtop.tui.widgets.row_widget import RowWidget, Wheel

Options = TypeVar("Options", TreeOptions, ActorOptions)


class Arranges(Protocol):
    """The screen of panes, as far as these arrange themselves on it."""

    chosen: PaneChoice

    def choose(self, chosen: PaneChoice) -> None: ...
    def size_pane(self, id_: str, by: int) -> None: ...
    def divide(self, by: int) -> None: ...
    def move_pane(self, id_: str, by: int) -> None: ...


class Pane(Wheel, RowWidget, can_focus=True):
    """`headless`: a tab stands for the head."""

    BINDINGS: ClassVar[list[BindingType]] = local(
        hide="hide",
        higher="size(1)",
        lower="size(-1)",
        divide_left="divide(-2)",
        divide_right="divide(2)",
        pane_earlier="place(-1)",
        pane_later="place(1)",
        usual_panes="usual",
    )
    id_: ClassVar[str]
    title: ClassVar[str]

    def __init__(self) -> None:
        super().__init__(id=self.id_)
        self.headless = False

    def want(self, view: View, width: int) -> PaneNeed:
        """The lines that the pane would fill, with its head; 1 if it has nothing to show."""
        raise NotImplementedError

    def body(self, view: View, width: int, height: int) -> list[Row]:
        raise NotImplementedError

    def alarm(self, view: View) -> tuple[str, str] | None:
        """(word, role) on the tab of this pane, if it has something to say."""
        return None

    @property
    def selection(self) -> Selection | None:
        """What an action key acts on while this pane is active; `None`: the chosen rank."""
        return None

    def show(self, view: View) -> None:
        width, height = self.size
        skip = 1 if self.headless else 0
        self.paint(self.body(view, width, height + skip)[skip : height + skip] if width else [])

    def head(self, summary: Row, width: int, right: Row = BLANK) -> Row:
        return head(
            self.hangtop.keymap.shown(f"pane_{self.id_}"), self.title, summary, width, focused=self.has_focus, right=right
        )

    def action_hide(self) -> None:
        """Out of sight, until its key is pressed again."""
        self.hangtop.hide_pane(self.id_)

    def action_size(self, by: int) -> None:
        """So many lines more."""
        self._watched.size_pane(self.id_, by)

    def action_divide(self, by: int) -> None:
        """Move the line between two panes to the side."""
        self._watched.divide(by)

    def action_place(self, by: int) -> None:
        """A place on in the order of panes, or back."""
        self._watched.move_pane(self.id_, by)

    def action_usual(self) -> None:
        """All panes in their usual order and size."""
        self._watched.choose(self._watched.chosen.usual())

    @property
    def _watched(self) -> Arranges:
        return cast("Arranges", self.screen)

    def on_focus(self) -> None:
        self.show(self.hangtop.view)  # only its own head tells who has the focus

    def on_blur(self) -> None:
        self.show(self.hangtop.view)


def one_line(pane: Pane, reason: Row, width: int) -> list[Row]:
    """A pane with nothing to show: title and reason on one line; under a tab the whole reason."""
    if pane.headless:
        return [BLANK, *folded(reason, width, 0)]
    title = align(say(pane.title), 13, "accent" if pane.has_focus else "ink")
    key = pane.hangtop.keymap.shown(f"pane_{pane.id_}")
    return [cut(((f"{key} ", "accent bold"), title, *reason), width)]


class SelectablePane(Pane):
    """A pane in which a row can be chosen by keys, click and wheel. The choice is a thing, so it stays when the order changes.

    `things`: what each line stands for, also out of sight; `None` where nothing can be chosen. `chosen`: one of these. `painted`:
    the line at each row of the widget; `None` where there is none.
    """

    BINDINGS: ClassVar[list[BindingType]] = local(
        up="choose(-1)",
        down="choose(1)",
        page_up="choose(-10)",
        page_down="choose(10)",
        first="choose(-100000)",
        last="choose(100000)",
        detail="open",
        back="leave",
    )

    def __init__(self) -> None:
        super().__init__()
        self.top = 0
        self.chosen: object = None
        self.things: Sequence[object] = ()
        self.painted: tuple[int | None, ...] = ()

    def chosen_line(self) -> int | None:
        return self.things.index(self.chosen) if self.chosen is not None and self.chosen in self.things else None

    def choose_line(self, line: int) -> None:
        self.chosen = self.things[line]

    def action_open(self) -> None:
        """Enter, or a click on the chosen row. By default the page of the chosen rank."""
        self.hangtop.action_detail()

    def step_back(self) -> bool:
        """Give up what was chosen or asked for here last; false if there is nothing."""
        return False

    def action_leave(self) -> None:
        """One step back in this pane; then as everywhere."""
        if self.step_back():
            self.hangtop.repaint()
        else:
            self.call_next(self.hangtop.action_back)

    def in_sight(self, height: int, total: int, above: int = 0, below: int = 0) -> slice:
        """The lines to paint in a pane of this height, scrolled as little as the choice needs. Around them are the head, so many
        rows `above`, the column titles, and so many rows `below`."""
        room = max(1, height - 2 - above - below)
        self.top = kept_in_sight(self.top, self.chosen_line(), room, total)
        shown = slice(self.top, min(self.top + room, total))
        self.painted = (*[None] * (2 + above), *range(shown.start, shown.stop))
        return shown

    def action_choose(self, by: int) -> None:
        """Move the choice; without one, begin at the top."""
        lines = [line for line, thing in enumerate(self.things) if thing is not None]
        if not lines:
            return
        now = self.chosen_line()
        place = max(0, min((-1 if now is None else lines.index(now)) + by, len(lines) - 1))
        self.choose_line(lines[place])
        self.hangtop.repaint()

    def line_at(self, x: int, y: int) -> int | None:
        """The line of `things` that is painted at this cell."""
        place = y + int(self.headless)
        return self.painted[place] if place < len(self.painted) else None

    def on_click(self, event: Click) -> None:
        """Choose the row, or open it if it is chosen, and make this the active pane."""
        self.hangtop.active = self.id_
        line = self.line_at(event.x, event.y)
        if line is None or self.things[line] is None:
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


def part_in_sight(seen: slice, total: int) -> Row:
    """`1-10 of 32`, if that is not all."""
    return ((say(f"{seen.start + 1}-{seen.stop} of {total:,}"), "muted"),) if seen.stop - seen.start < total else ()


class TablePane(SelectablePane, Generic[Options]):
    """A table that a person can filter and sort. `options`: what was asked for. `orders`: the first is the usual one."""

    BINDINGS: ClassVar[list[BindingType]] = local(order="order")
    orders: ClassVar[Sequence[str]]
    options: Options

    @property
    def search(self) -> LogQuery:
        return LogQuery(self.options.pattern or None)

    def look_for(self, pattern: str) -> None:
        self.ask_for(replace(self.options, pattern=pattern))

    def action_order(self) -> None:
        place = self.orders.index(self.options.order) + 1
        self.ask_for(replace(self.options, order=self.orders[place % len(self.orders)]))

    def ask_for(self, options: Options) -> None:
        self.options = options
        self.hangtop.repaint()

    def options_shown(self, seen: slice, total: int) -> Row:
        """At the right of the head: filter, order, and what part is in sight: `by cpu · 1-10 of 32`."""
        pattern, order = self.options.pattern, self.options.order
        return dotted(
            [
                ((say(f"with “{pattern}”"), "accent"),) if pattern else (),
                ((say(f"by {order}"), "accent"),) if order != self.orders[0] else (),
                part_in_sight(seen, total),
            ]
        )
