"""A question with a button for each answer, asked before something that a person may not want."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from hangtop.common.text import some
from hangtop.render.spans import BLANK, Row, between, folded
from hangtop.render.view import View
from hangtop.tui.dialogs.dialog import DialogScreen
from hangtop.tui.keys import Key
from hangtop.tui.panes.footer import keys_row

AROUND = 6
"""Lines above and below the box."""


class Answer(Struct, frozen=True):
    """`label`: on the button. `then`: what is done once the dialog has closed. `key`: gives this answer at once. `grave`: in
    red."""

    label: str
    then: Callable[[], None]
    key: Key | None = None
    grave: bool = False


class QuestionScreen(DialogScreen):
    """`lines` say what will happen. The first of the `answers` is chosen at first, so that Enter at once does no harm."""

    DEFAULT_CSS = "QuestionScreen #box { max-width: 100; border: heavy $warning; }"

    def __init__(self, title: str, lines: Sequence[Row], answers: Sequence[Answer]) -> None:
        super().__init__()
        self._title, self._lines, self._answers = title, lines, answers
        self._chosen = 0

    @classmethod
    def before(cls, title: str, lines: Sequence[str], verb: str, then: Callable[[], None]) -> QuestionScreen:
        """Asks before `then` is called; Cancel is chosen at first."""
        cancel = Answer("Cancel", lambda: None, Key("escape,q,ctrl+c", "Esc", word="cancel"))
        return cls(title, [((line, "ink"),) for line in lines], (cancel, Answer(verb, then, grave=True)))

    @property
    def keys_there(self) -> tuple[Key, ...]:
        return (Key(shown="← → Enter", word="choose"), *(answer.key for answer in self._answers if answer.key is not None))

    def rows(self, view: View, width: int) -> list[Row]:
        """Title, what will happen, the buttons and their keys."""
        room = max(1, self.size.height - AROUND - 5)
        told = [part for line in self._lines for part in folded(line, width, 0)]
        if len(told) > room:
            told = [*told[: room - 1], ((f"… and {some(len(told) - room + 1, 'more line')}", "ink"),)]
        foot = between(BLANK, keys_row(self.keys_there), width)
        return [((self._title, "ink bold"),), *told, BLANK, self._buttons(), foot]

    def _buttons(self) -> Row:
        row: Row = ()
        for place, answer in enumerate(self._answers):
            role, chosen = ("bad bold", "bad bold reverse") if answer.grave else ("ink", "accent reverse")
            row = (*row, (f" {answer.label} ", chosen if place == self._chosen else role), ("  ", ""))
        return row

    def press(self, key: str, character: str | None) -> None:
        if key == "enter":
            self._give(self._answers[self._chosen])
        elif key in ("right", "tab", "left", "shift+tab"):
            by = 1 if key in ("right", "tab") else -1
            self._chosen = max(0, min(self._chosen + by, len(self._answers) - 1))
        else:
            for answer in self._answers:
                if answer.key is not None and key in answer.key.keys.split(","):
                    self._give(answer)

    def click(self, line: int, words: str) -> None:
        for answer in self._answers:
            if answer.label == words:
                self._give(answer)

    def _give(self, answer: Answer) -> None:
        """Close, then do what the answer stands for."""
        self.dismiss()
        answer.then()
