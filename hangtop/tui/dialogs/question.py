"""Questions: whether to do something that a person may not want, and which Ray session is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from hangtop.common.text import UNKNOWN, some
from hangtop.records.ray.cluster import RayCluster
from hangtop.render.ray.ray_lines import drivers, session_table
from hangtop.render.spans import BLANK, Row, between, folded
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.dialogs.dialog import DialogScreen
from hangtop.tui.keys import Key
from hangtop.tui.panes.footer import keys_row

AROUND = 6
"""Lines above and below the box."""
MOST, LINES_ABOVE = 12, 4
"""Sessions in sight, and the lines above them."""
CHOOSE, TAKE, CANCEL = Key(shown="↑↓", word="choose"), Key("enter", "Enter", word="its plan"), Key("escape", "Esc", word="cancel")


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
        room = max(1, self.size.height - AROUND - 5)
        lines = [part for line in self._lines for part in folded(line, width, 0)]
        if len(lines) > room:
            lines = [*lines[: room - 1], ((say(f"… and {some(len(lines) - room + 1, 'more line')}"), "ink"),)]
        foot = between(BLANK, keys_row(self.keys_there), width)
        return [((say(self._title), "ink bold"),), *lines, BLANK, self._buttons(), foot]

    def _buttons(self) -> Row:
        row: Row = ()
        for place, answer in enumerate(self._answers):
            role, chosen = ("bad bold", "bad bold reverse") if answer.grave else ("ink", "accent reverse")
            row = (*row, (f" {say(answer.label)} ", chosen if place == self._chosen else role), ("  ", ""))
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
            if say(answer.label) == words:
                self._give(answer)

    def _give(self, answer: Answer) -> None:
        """Close, then do what the answer stands for."""
        self.dismiss()
        answer.then()


class RaySessionScreen(DialogScreen):
    """Asked when no session is proven to be the run's. Nothing is preselected.

    `known`: the sessions to choose from. `take` is called with the name of the chosen session, after this screen is closed.

    `without`: what happens without a session, in words; that choice calls `take` with an empty name.
    """

    DEFAULT_CSS = "RaySessionScreen #box { max-width: 120; }"

    def __init__(self, known: Sequence[RayCluster], take: Callable[[str], None], without: str = "") -> None:
        super().__init__()
        self.at: int | None = None
        self._known, self._take, self._without = tuple(known), take, without

    @property
    def keys_there(self) -> tuple[Key, ...]:
        return (CHOOSE, CANCEL) if self.at is None else (CHOOSE, TAKE, CANCEL)

    def rows(self, view: View, width: int) -> list[Row]:
        heads, table = session_table(self._known, view.now, width - 2)
        lines: list[Row] = [*table, *([((self._without, "ink"),)] if self._without else [])]
        return [
            ((say("Which Ray session is meant?"), "ink bold"),),
            ((say(f"{some(len(self._known), 'session')} of yours here, none is proven to be this run's."), "muted"),),
            BLANK,
            (("  ", ""), *heads),
            *(
                (("▸ " if place == self.at else "  ", "accent bold"), *_marked(line, place == self.at))
                for place, line in list(enumerate(lines))[self._top : self._top + MOST]
            ),
            BLANK,
            self._said_of(self._known[self.at]) if self.at is not None and self.at < len(self._known) else BLANK,
            BLANK,
            between(BLANK, keys_row(self.keys_there), width),
        ]

    def press(self, key: str, character: str | None) -> None:
        match key:
            case "up" | "down":
                first, step = (0, 1) if key == "down" else (self._count - 1, -1)
                self.at = first if self.at is None else max(0, min(self.at + step, self._count - 1))
            case "enter":
                self._choose()
            case "escape":
                self.dismiss()
            case "q" | "ctrl+c" | "ctrl+q":
                self.hangtop.action_leave()

    def click(self, line: int, words: str) -> None:
        """Mark the row; a click on the marked row opens the plan."""
        place = self._top + line - LINES_ABOVE
        if line < LINES_ABOVE or place >= min(self._top + MOST, self._count):
            return
        if place == self.at:
            self._choose()
            return
        self.at = place
        self.show(self.hangtop.view)

    @property
    def _count(self) -> int:
        return len(self._known) + bool(self._without)

    @property
    def _top(self) -> int:
        return max(0, min((self.at or 0) - MOST + 1, self._count - MOST))

    def _choose(self) -> None:
        """Take the marked row; without one nothing happens."""
        if self.at is not None:
            self.dismiss()
            self._take(self._known[self.at].session if self.at < len(self._known) else "")

    @staticmethod
    def _said_of(cluster: RayCluster) -> Row:
        gcs = f"   GCS {cluster.gcs_address or UNKNOWN}"
        return ((say("its driver: "), "muted"), (drivers(cluster), "ink"), (gcs, "muted"))


def _marked(row: Row, chosen: bool) -> Row:
    return tuple((span, "ink bold" if chosen and role else role) for span, role in row)
