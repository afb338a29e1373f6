"""A page over the watch screen: a head line with the verdict, its own rows, its own keys. It follows the run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType

from hangtop.render.spans import Row, between, cut
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.bindings import local
from hangtop.tui.keys import PAGE_KEYS, Key
from hangtop.tui.live_screen import LiveScreen
from hangtop.tui.panes.footer import KeysLine, footer_row
from hangtop.tui.panes.status_line import badge
from hangtop.tui.widgets.row_widget import RowWidget, Wheel


class PageHead(RowWidget):
    def show(self, view: View) -> None:
        page = cast("PageScreen", self.screen)
        left: Row = ((" hangtop  ", "muted"), (say(page.title_words) or view.title, "ink bold"), ("   ", ""), *page.head(view))
        self.paint((between(left, (*badge(view), (" ", "")), self.size.width),))


class PageBody(Wheel, RowWidget, can_focus=True):
    DEFAULT_CSS = "PageBody { height: 1fr; margin: 1 1; }"
    BINDINGS: ClassVar[list[BindingType]] = local(
        up="move(-1)",
        down="move(1)",
        page_up="page(-1)",
        page_down="page(1)",
        fold="page(1)",
        first="end(-1)",
        last="end(1)",
        detail="open",
    )

    def __init__(self) -> None:
        super().__init__(id="page")
        self.top = 0

    def show(self, view: View) -> None:
        page, (width, height) = cast("PageScreen", self.screen), self.size
        above, rows = page.above(view, width), page.rows(view, width)
        room = height - len(above)
        self.top = max(0, min(self.top, len(rows) - room))
        self.paint([cut(row, width) for row in (*above, *rows[self.top : self.top + room])])

    def bring_into_sight(self, line: int) -> None:
        self.top = min(line, max(self.top, line - self.size.height + 1))

    def action_move(self, by: int) -> None:
        cast("PageScreen", self.screen).move(by)
        self.show(self.hangtop.view)

    def wheel(self, rows: int) -> None:
        self.top += rows
        self.show(self.hangtop.view)

    def action_page(self, by: int) -> None:
        self.wheel(by * max(1, self.size.height - 1))

    def action_end(self, by: int) -> None:
        self.wheel(by * sys.maxsize)  # `show` knows where the last rows begin

    def action_open(self) -> None:
        cast("PageScreen", self.screen).open()


class PageFoot(KeysLine):
    @property
    def keys_there(self) -> tuple[Key, ...]:
        return self.hangtop.keymap.all_of(cast("PageScreen", self.screen).keys)

    def show(self, view: View) -> None:
        self.paint_line(footer_row(view, self.size.width, self.keys_there, brief=True))


class PageScreen(LiveScreen):
    """Subclasses give `head`, what the page is about, and `rows`, and `move` and `open` if arrows and Enter do more than scroll.
    `title_words`: in place of the name of the run."""

    CSS = "PageScreen { background: $background; } PageHead, PageFoot { background: $panel; }"
    AUTO_FOCUS = "#page"
    keys: tuple[Key, ...] = PAGE_KEYS
    title_words = ""

    @property
    def body(self) -> PageBody:
        return self.query_one(PageBody)

    def compose(self) -> ComposeResult:
        yield PageHead()
        yield PageBody()
        yield PageFoot()

    def head(self, view: View) -> Row:
        raise NotImplementedError

    def above(self, view: View, width: int) -> Sequence[Row]:
        """Rows above the others, which do not scroll."""
        return ()

    def rows(self, view: View, width: int) -> Sequence[Row]:
        raise NotImplementedError

    def move(self, by: int) -> None:
        self.body.top += by

    def open(self) -> None:
        """What Enter does."""
