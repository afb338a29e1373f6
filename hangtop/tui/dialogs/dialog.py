"""A dialog: a box over the screen in front that takes all keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from hangtop.common.text import ascii_only, printable
from hangtop.render.spans import Row, cut
from hangtop.render.verdict_labels import VerdictLabel, verdict_label
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.keys import Key
from hangtop.tui.live_screen import LiveScreen
from hangtop.tui.panes.footer import KeysLine, words_at
from hangtop.tui.widgets.row_widget import RowWidget


class DialogBody(KeysLine):
    """The rows of the dialog, and as many lines as they need."""

    DEFAULT_CSS = "DialogBody { height: auto; background: $surface; }"

    @property
    def keys_there(self) -> tuple[Key, ...]:
        return cast("DialogScreen", self.screen).keys_there

    def show(self, view: View) -> None:
        width = max(1, self.size.width)
        rows = cast("DialogScreen", self.screen).rows(view, width)
        self.styles.height = len(rows)
        self.paint([cut(row, width) for row in rows])

    def on_click(self, event: events.Click) -> None:
        cast("DialogScreen", self.screen).click(event.y, words_at(self.row_at(event.y), event.x))


class DialogScreen(LiveScreen, ModalScreen[None]):
    """The screens around the box go on. If the verdict changes meanwhile, the border says so. No other part of the program gets a
    key while it is open."""

    DEFAULT_CSS = """
    DialogScreen { align: center middle; background: $background 60%; }
    DialogScreen #box { width: 92%; height: auto; border: heavy $accent; background: $surface; padding: 1 2; }
    DialogScreen.ascii #box { border: ascii $accent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._opened_under: VerdictLabel | None = None

    @property
    def keys_there(self) -> tuple[Key, ...]:
        """The keys that the box shows."""
        return ()

    @property
    def typing(self) -> bool:
        """Whether a letter is text now."""
        return False

    def rows(self, view: View, width: int) -> list[Row]:
        raise NotImplementedError

    def press(self, key: str, character: str | None) -> None:
        """What a key does, by Textual's name."""
        raise NotImplementedError

    def click(self, line: int, words: str) -> None:
        """What a click on these words does; a click on a key presses it."""

    def parts(self) -> Iterable[RowWidget]:
        """The widgets in the box, top down."""
        yield DialogBody()

    def compose(self) -> ComposeResult:
        self.set_class(self.hangtop.ascii, "ascii")
        with Vertical(id="box"):
            yield from self.parts()

    @property
    def parts_shown(self) -> Iterable[Widget]:
        return self.query_one("#box").children

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.press(event.key if self.typing else self.hangtop.keymap.arrow(event.key), event.character)
        if self.is_current:
            self.show(self.hangtop.view)

    def place(self, view: View) -> bool:
        now = verdict_label(view.verdict) if view.verdict is not None else None
        self._opened_under = self._opened_under or now
        changed = now is not None and now != self._opened_under
        sign = ascii_only if self.hangtop.ascii else printable
        self.query_one("#box").border_subtitle = sign(say(f"now {now.sign} {now.word}")) if changed and now is not None else ""
        return False
