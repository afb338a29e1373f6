"""Before hangtop quits while a run that it started still lives: leave it running, stop it, or stay. Leaving is the default."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Literal, cast

from textual import events

from hangtop.actions.action import Choices
from hangtop.actions.registry import action
from hangtop.render.spans import BLANK, Row, between, cut
from hangtop.render.view import View
from hangtop.tui.dialogs.dialog import DialogScreen
from hangtop.tui.keys import Key
from hangtop.tui.open_action import open_plan
from hangtop.tui.panes.footer import key_at, keys_row, words_at
from hangtop.tui.widgets.row_widget import RowWidget

Answer = Literal["leave", "stop", "stay"]
BUTTONS: tuple[tuple[Answer, str], ...] = (("leave", " Leave it running "), ("stop", " Stop it … "), ("stay", " Stay "))
ANSWERED_BY: dict[str, Answer] = {"q": "leave", "s": "stop", "Esc": "stay"}
KEYS = (
    Key("", "← → Enter", "", "choose", ""),
    Key("", "q", "", "leave", ""),
    Key("", "s", "", "stop it", ""),
    Key("", "Esc", "", "stay", ""),
)


class QuitBody(RowWidget):
    DEFAULT_CSS = "QuitBody { height: 5; background: $surface; }"

    def show(self, view: View) -> None:
        chosen = cast("QuitScreen", self.screen).chosen
        width, log = max(1, self.size.width), next(iter(view.spec.logs), "LOG")
        buttons: Row = ()
        for answer, label in BUTTONS:
            alike = "bad bold" if answer == "stop" else "ink"
            buttons = (
                *buttons,
                (label, f"{'accent' if answer != 'stop' else alike} reverse" if answer == chosen else alike),
                ("  ", ""),
            )
        rows: list[Row] = [
            (("The run goes on when hangtop quits", "ink bold"),),
            (("To watch it again: ", "muted"), (f"hangtop --log {shlex.quote(log)}", "ink")),
            BLANK,
            buttons,
            between(BLANK, keys_row(KEYS), width),
        ]
        self.paint([cut(row, width) for row in rows])

    def on_click(self, event: events.Click) -> None:
        row = self.rows[event.y] if event.y < len(self.rows) else ()
        said = words_at(row, event.x)
        answer = next((answer for answer, label in BUTTONS if label.strip() == said), None) or ANSWERED_BY.get(
            key_at(row, event.x) or ""
        )
        if answer is not None:
            cast("QuitScreen", self.screen).answer(answer)


class QuitScreen(DialogScreen):
    """Every way out of it is immediate: it reads nothing and waits for nobody. `q` a second time quits."""

    DEFAULT_CSS = "QuitScreen #box { max-width: 78; }"

    def __init__(self) -> None:
        super().__init__()
        self.chosen: Answer = "leave"

    def parts(self) -> Iterable[RowWidget]:
        yield QuitBody()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        match event.key:
            case "q" | "ctrl+c" | "ctrl+q":
                self.answer("leave")
            case "s":
                self.answer("stop")
            case "escape":
                self.answer("stay")
            case "enter":
                self.answer(self.chosen)
            case "right" | "tab" | "left" | "shift+tab":
                answers = [answer for answer, _ in BUTTONS]
                by = 1 if event.key in ("right", "tab") else -1
                self.chosen = answers[max(0, min(answers.index(self.chosen) + by, len(answers) - 1))]
                self.show(self.hangtop.view)

    def answer(self, answer: Answer) -> None:
        match answer:
            case "leave":
                self.hangtop.action_leave()
            case "stop":
                self.dismiss()
                open_plan(self.hangtop, action("stop"), Choices())
            case "stay":
                self.dismiss()
