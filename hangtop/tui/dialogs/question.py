"""A question with a button for each answer, asked before something that a person may not want."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from msgspec import Struct
from textual import events

from hangtop.common.text import some
from hangtop.render.spans import BLANK, Row, between, cut, folded
from hangtop.render.view import View
from hangtop.tui.dialogs.dialog import DialogScreen
from hangtop.tui.keys import Key
from hangtop.tui.panes.footer import key_at, keys_row, words_at
from hangtop.tui.widgets.row_widget import RowWidget

AROUND = 6
"""Lines above and below the box."""


class Answer(Struct, frozen=True):
    """`label`: on the button. `keys`: give this answer at once, as Textual names them; `word`: what the first of them is called.
    `then`: what is done once the dialog has closed. `grave`: in red."""

    label: str
    then: Callable[[], None]
    keys: tuple[str, ...] = ()
    word: str = ""
    grave: bool = False

    @property
    def shown_key(self) -> str:
        return {"escape": "Esc"}.get(self.keys[0], self.keys[0]) if self.keys else ""


class QuestionBody(RowWidget):
    """Title, what will happen, the buttons and their keys."""

    DEFAULT_CSS = "QuestionBody { height: auto; background: $surface; }"

    def show(self, view: View) -> None:
        screen = cast("QuestionScreen", self.screen)
        width = max(1, self.size.width)
        room = max(1, screen.size.height - AROUND - 5)
        told = [part for line in screen.lines for part in folded(line, width, 0)]
        if len(told) > room:
            told = [*told[: room - 1], ((f"… and {some(len(told) - room + 1, 'more line')}", "ink"),)]
        keys = (Key(shown=answer.shown_key, word=answer.word) for answer in screen.answers if answer.keys)
        foot = between(BLANK, keys_row((Key(shown="← → Enter", word="choose"), *keys)), width)
        rows: list[Row] = [((screen.title_words, "ink bold"),), *told, BLANK, _buttons(screen), foot]
        self.styles.height = len(rows)
        self.paint([cut(row, width) for row in rows])

    def on_click(self, event: events.Click) -> None:
        screen, row = cast("QuestionScreen", self.screen), self.rows[event.y] if event.y < len(self.rows) else ()
        clicked = (words_at(row, event.x), key_at(row, event.x))
        for answer in screen.answers:
            if answer.label == clicked[0] or (answer.keys and answer.shown_key == clicked[1]):
                screen.give(answer)
                return


def _buttons(screen: QuestionScreen) -> Row:
    row: Row = ()
    for place, answer in enumerate(screen.answers):
        chosen, role = place == screen.chosen, "bad bold" if answer.grave else "ink"
        role = f"{role if answer.grave else 'accent'} reverse" if chosen else role
        row = (*row, (f" {answer.label} ", role), ("  ", ""))
    return row


class QuestionScreen(DialogScreen):
    """`lines` say what will happen. The first of the `answers` is chosen at first, so that Enter at once does no harm."""

    DEFAULT_CSS = "QuestionScreen #box { max-width: 100; border: heavy $warning; }"

    def __init__(self, title: str, lines: Sequence[Row], answers: Sequence[Answer]) -> None:
        super().__init__()
        self.title_words, self.lines, self.answers = title, lines, answers
        self.chosen = 0

    @classmethod
    def before(cls, title: str, lines: Sequence[str], verb: str, then: Callable[[], None]) -> QuestionScreen:
        """Asks before `then` is called; Cancel is chosen at first."""
        cancel = Answer("Cancel", lambda: None, ("escape", "q", "ctrl+c"), "cancel")
        return cls(title, [((line, "ink"),) for line in lines], (cancel, Answer(verb, then, grave=True)))

    def parts(self) -> Iterable[RowWidget]:
        yield QuestionBody()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == "enter":
            self.give(self.answers[self.chosen])
        elif event.key in ("right", "tab", "left", "shift+tab"):
            by = 1 if event.key in ("right", "tab") else -1
            self.chosen = max(0, min(self.chosen + by, len(self.answers) - 1))
            self.show(self.hangtop.view)
        else:
            for answer in self.answers:
                if event.key in answer.keys:
                    self.give(answer)

    def give(self, answer: Answer) -> None:
        """Close, then do what the answer stands for."""
        self.dismiss()
        answer.then()
