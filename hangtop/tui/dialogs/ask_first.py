"""A question before something that a person may not want: what will happen, and Cancel chosen at first."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from textual import events

from hangtop.common.text import some
from hangtop.render.spans import BLANK, Row, cut
from hangtop.render.view import View
from hangtop.tui.dialogs.dialog import DialogScreen
from hangtop.tui.keys import Key
from hangtop.tui.panes.footer import key_at, keys_row, words_at
from hangtop.tui.widgets.row_widget import RowWidget

CANCEL = "Cancel"
KEYS = (Key(shown="← → Enter", word="choose"), Key(shown="Esc", word="cancel"))
AROUND = 6
"""Lines above and below the box."""


class QuestionBody(RowWidget):
    """Title, what will happen, the buttons and their keys."""

    DEFAULT_CSS = "QuestionBody { height: auto; background: $surface; }"

    def show(self, view: View) -> None:
        screen = cast("AskFirst", self.screen)
        width = max(1, self.size.width)
        room = max(1, screen.size.height - AROUND - 5)
        lines = [part for line in screen.lines for part in textwrap.wrap(line, width)]
        told = lines if len(lines) <= room else [*lines[: room - 1], f"… and {some(len(lines) - room + 1, 'more line')}"]
        rows: list[Row] = [((screen.title_words, "ink bold"),), *(((line, "ink"),) for line in told), BLANK]
        rows += [_buttons(screen), keys_row(KEYS)]
        self.styles.height = len(rows)
        self.paint([cut(row, width) for row in rows])

    def on_click(self, event: events.Click) -> None:
        screen, row = cast("AskFirst", self.screen), self.rows[event.y] if event.y < len(self.rows) else ()
        said = words_at(row, event.x)
        if said == screen.verb:
            screen.answer(yes=True)
        elif said == CANCEL or key_at(row, event.x) == "Esc":
            screen.answer(yes=False)


def _buttons(screen: AskFirst) -> Row:
    cancel, verb = (f" {CANCEL} ", "accent reverse"), (f" {screen.verb} ", "bad bold")
    if screen.armed:
        cancel, verb = (f" {CANCEL} ", "ink"), (f" {screen.verb} ", "bad bold reverse")
    return (cancel, ("  ", ""), verb)


class AskFirst(DialogScreen):
    """`lines` say what will happen; `then` is called once `verb` is chosen. Enter at once cancels."""

    DEFAULT_CSS = "AskFirst #box { max-width: 100; border: heavy $warning; }"

    def __init__(self, title: str, lines: Sequence[str], verb: str, then: Callable[[], None]) -> None:
        super().__init__()
        self.title_words, self.lines, self.verb, self._then = title, lines, verb, then
        self.armed = False

    def parts(self) -> Iterable[RowWidget]:
        yield QuestionBody()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        match event.key:
            case "escape" | "q" | "ctrl+c":
                self.answer(yes=False)
            case "enter":
                self.answer(yes=self.armed)
            case "right" | "tab" | "left" | "shift+tab":
                self.armed = event.key in ("right", "tab")
                self.show(self.hangtop.view)

    def answer(self, *, yes: bool) -> None:
        """Close, and go on if that was chosen."""
        self.dismiss()
        if yes:
            self._then()
