"""Ask which Ray session an action is meant for, when none is proven to be the run's. Nothing is preselected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hangtop.common import text
from hangtop.records.ray.cluster import RayCluster
from hangtop.render.ray.ray_sessions import drivers, session_table
from hangtop.render.spans import BLANK, Row, between
from hangtop.render.view import View
from hangtop.tui.dialogs.dialog import DialogScreen
from hangtop.tui.keys import Key
from hangtop.tui.panes.footer import keys_row

MOST, LINES_ABOVE = 12, 4
"""Rows in sight, and the lines above them."""
CHOOSE, TAKE, CANCEL = Key(shown="↑↓", word="choose"), Key("enter", "Enter", word="its plan"), Key("escape", "Esc", word="cancel")


class RaySessionScreen(DialogScreen):
    """`known`: the sessions to choose from. `take` is called with the name of the chosen session, after this screen is closed.

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
        """The question, and a row for each session."""
        heads, table = session_table(self._known, view.now, width - 2)
        lines: list[Row] = [*table, *([((self._without, "ink"),)] if self._without else [])]
        return [
            (("Which Ray session is meant?", "ink bold"),),
            ((f"{text.some(len(self._known), 'session')} of yours here, none is proven to be this run's.", "muted"),),
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
        """How many rows there are to choose from."""
        return len(self._known) + bool(self._without)

    @property
    def _top(self) -> int:
        """The first row in sight."""
        return max(0, min((self.at or 0) - MOST + 1, self._count - MOST))

    def _choose(self) -> None:
        """Take the marked row; without one nothing happens."""
        if self.at is not None:
            self.dismiss()
            self._take(self._known[self.at].session if self.at < len(self._known) else "")

    @staticmethod
    def _said_of(cluster: RayCluster) -> Row:
        gcs = f"   GCS {cluster.gcs_address or text.UNKNOWN}"
        return (("its driver: ", "muted"), (drivers(cluster), "ink"), (gcs, "muted"))


def _marked(row: Row, chosen: bool) -> Row:
    return tuple((span, "ink bold" if chosen and role else role) for span, role in row)
