"""Ask which Ray session an action is meant for, when none is proven to be the run's. Nothing is preselected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from textual import events

from hangtop.common import text
from hangtop.records.ray.cluster import RayCluster
from hangtop.render.ray.ray_lines import drivers, session_table
from hangtop.render.spans import BLANK, Row, between, cut
from hangtop.render.view import View
from hangtop.tui.dialogs.dialog import DialogScreen
from hangtop.tui.keys import Key
from hangtop.tui.panes.footer import keys_row
from hangtop.tui.widgets.row_widget import RowWidget

MOST = 12
KEYS = (Key("", "↑↓", "", "choose", ""), Key("", "Enter", "", "its plan", ""), Key("", "Esc", "", "cancel", ""))


class SessionsBody(RowWidget):
    DEFAULT_CSS = "SessionsBody { height: auto; background: $surface; }"

    def show(self, view: View) -> None:
        screen = cast("RaySessionScreen", self.screen)
        width = max(1, self.size.width)
        rows = screen.rows(width, view.now)
        self.styles.height = len(rows)
        self.paint([cut(row, width) for row in rows])


class RaySessionScreen(DialogScreen):
    """`known`: the sessions to choose from. `take` is called with the name of the chosen session, after this screen is closed.

    `without`: what happens without a session, in words; that choice calls `take` with an empty name.
    """

    DEFAULT_CSS = "RaySessionScreen #box { max-width: 120; }"

    def __init__(self, known: Sequence[RayCluster], take: Callable[[str], None], without: str = "") -> None:
        super().__init__()
        self.known = tuple(known)
        self.at: int | None = None
        self._take, self._without = take, without

    def parts(self) -> Iterable[RowWidget]:
        yield SessionsBody()

    def rows(self, width: int, now: float) -> list[Row]:
        """The question, and a row for each session."""
        heads, table = session_table(self.known, now, width - 2)
        lines: list[Row] = [*table, *([((self._without, "ink"),)] if self._without else [])]
        top = max(0, min((self.at or 0) - MOST + 1, len(lines) - MOST))
        return [
            (("Which Ray session is meant?", "ink bold"),),
            ((f"{text.some(len(self.known), 'session')} of yours here, none is proven to be this run's.", "muted"),),
            BLANK,
            (("  ", ""), *heads),
            *(
                (("▸ " if place == self.at else "  ", "accent bold"), *_marked(line, place == self.at))
                for place, line in list(enumerate(lines))[top : top + MOST]
            ),
            BLANK,
            *([self._said_of(self.known[self.at])] if self.at is not None and self.at < len(self.known) else [BLANK]),
            BLANK,
            between(BLANK, keys_row(KEYS if self.at is not None else (KEYS[0], KEYS[2])), width),
        ]

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        match event.key:
            case "up" | "down":
                last = len(self.known) - (not self._without)
                first = 0 if event.key == "down" else last
                step = 1 if event.key == "down" else -1
                self.at = first if self.at is None else max(0, min(self.at + step, last))
            case "enter":
                self._choose()
                return
            case "escape":
                self.dismiss()
                return
            case "q" | "ctrl+c" | "ctrl+q":
                self.hangtop.action_leave()
                return
        self.show(self.hangtop.view)

    async def on_click(self, event: events.Click) -> None:
        """Mark the row; a click on the marked row opens the plan."""
        place = event.screen_y - self.query_one(SessionsBody).region.y - 4
        if not 0 <= place < min(len(self.known) + bool(self._without), MOST):
            return
        if place == self.at:
            self._choose()
            return
        self.at = place
        self.show(self.hangtop.view)

    def _choose(self) -> None:
        """Take the marked row; without one nothing happens."""
        if self.at is not None:
            self.dismiss()
            self._take(self.known[self.at].session if self.at < len(self.known) else "")

    @staticmethod
    def _said_of(cluster: RayCluster) -> Row:
        gcs = f"   GCS {cluster.gcs_address or text.UNKNOWN}"
        return (("its driver: ", "muted"), (drivers(cluster), "ink"), (gcs, "muted"))


def _marked(row: Row, chosen: bool) -> Row:
    return tuple((span, "ink bold" if chosen and role else role) for span, role in row)
