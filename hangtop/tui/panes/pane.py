"""What all panes share: a key, a head, and how much room they need."""

from __future__ import annotations

from typing import ClassVar

from hangtop.render.spans import BLANK, Row, cut, folded, head
from hangtop.render.view import View
from hangtop.tui.selection import Selection
from hangtop.tui.widgets.layout import PaneNeed
from hangtop.tui.widgets.row_widget import WheelWidget


class Pane(WheelWidget, can_focus=True):
    """`key`: focuses the pane. `headless`: a tab stands for the head."""

    key: ClassVar[str] = ""
    title: ClassVar[str] = ""
    id_: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__(id=self.id_)
        self.headless = False

    def want(self, view: View, width: int) -> PaneNeed:
        """The lines that the pane would fill, with its head; 1 if it has nothing to show."""
        raise NotImplementedError

    def body(self, view: View, width: int, height: int) -> list[Row]:
        """The rows to paint, the head first."""
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
        return head(self.key, self.title, summary, width, focused=self.has_focus, right=right)

    def on_focus(self) -> None:
        self.show(self.hangtop.view)  # only its own head tells who has the focus

    def on_blur(self) -> None:
        self.show(self.hangtop.view)


def one_line(pane: Pane, said: Row, width: int) -> list[Row]:
    """A pane with nothing to show: title and reason on one line; under a tab the whole reason."""
    if pane.headless:
        return [BLANK, *folded(said, width, 0)]
    title = f"{pane.title:<13}"
    return [cut(((f"{pane.key} ", "accent bold"), (title, "accent" if pane.has_focus else "ink"), *said), width)]
