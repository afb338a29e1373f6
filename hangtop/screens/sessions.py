"""Which of several Ray sessions an action is meant for. Nothing is chosen by itself: Enter takes the row that is marked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from textual import events

from hangtop import text
from hangtop.panes.columns import Column, fitting, snugged, table_row, title_row
from hangtop.panes.footer import keys_row
from hangtop.panes.keys import Key
from hangtop.panes.line import LineView
from hangtop.panes.rows import BLANK, Row, between, cut
from hangtop.panes.view import View
from hangtop.records.ray import RayCluster
from hangtop.screens.box import BoxScreen

MOST = 12
KEYS = (Key("", "↑↓", "", "choose", ""), Key("", "Enter", "", "its plan", ""), Key("", "Esc", "", "cancel", ""))


class SessionsBody(LineView):
    DEFAULT_CSS = "SessionsBody { height: auto; background: $surface; }"

    def show(self, view: View) -> None:
        screen = cast("SessionsScreen", self.screen)
        width = max(1, self.size.width)
        rows = screen.rows(width, view.now)
        self.styles.height = len(rows)
        self.paint([cut(row, width) for row in rows])


class SessionsScreen(BoxScreen):
    """`known`: the sessions to choose from. `take` is called with the name of the chosen one, once this screen is closed."""

    DEFAULT_CSS = "SessionsScreen #box { max-width: 120; }"

    def __init__(self, known: Sequence[RayCluster], take: Callable[[str], None]) -> None:
        super().__init__()
        self.known, self.at = tuple(known), 0
        self._take = take

    def parts(self) -> Iterable[LineView]:
        yield SessionsBody()

    def rows(self, width: int, now: float) -> list[Row]:
        """A row for each session, and what is not known: which of them is meant."""
        columns = fitting(snugged(_columns(now), self.known), width - 2)
        top = max(0, min(self.at - MOST + 1, len(self.known) - MOST))
        shown = list(enumerate(self.known))[top : top + MOST]
        return [
            ((f"Which of these {len(self.known)} Ray sessions?", "ink bold"),),
            (("Choose the one that is meant. Its plan comes first; nothing is done yet.", "muted"),),
            BLANK,
            (("  ", ""), *title_row(columns, width - 2)),
            *(
                (
                    ("▸ " if place == self.at else "  ", "accent bold"),
                    *_marked(table_row(columns, one, width - 2), place == self.at),
                )
                for place, one in shown
            ),
            BLANK,
            between(BLANK, keys_row(KEYS), width),
        ]

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        match event.key:
            case "up" | "down":
                self.at = max(0, min(self.at + (1 if event.key == "down" else -1), len(self.known) - 1))
            case "enter":
                self.dismiss()
                self._take(self.known[self.at].session)
                return
            case "escape":
                self.dismiss()
                return
            case "q" | "ctrl+c" | "ctrl+q":
                self.hangtop.action_leave()
                return
        self.show(self.hangtop.view)

    async def on_click(self, event: events.Click) -> None:
        """Marks the row; of the marked one opens the plan."""
        place = event.screen_y - self.query_one(SessionsBody).region.y - 4
        if not 0 <= place < min(len(self.known), MOST):
            return
        if place == self.at:
            self.dismiss()
            self._take(self.known[place].session)
            return
        self.at = place
        self.show(self.hangtop.view)


def _marked(row: Row, chosen: bool) -> Row:
    return tuple((span, "ink bold" if chosen and role else role) for span, role in row)


def _columns(now: float) -> list[Column[RayCluster]]:
    def started(one: RayCluster) -> Row:
        at = min((part.started_at for part in one.parts), default=None)
        return ((text.UNKNOWN, "stale"),) if at is None else ((text.moment(at, now), "muted"),)

    return [
        Column("session", 48, 0, lambda one: ((one.session, "ink"),), snug=True),
        Column("user", 10, 2, lambda one: ((one.user or str(one.uid), "muted"),), snug=True),
        Column("started", 16, 3, started, snug=True),
        Column("GCS", 21, 4, lambda one: ((one.gcs_address or text.UNKNOWN, "muted"),), snug=True),
        Column("nodes", 5, 5, lambda one: ((str(len(one.nodes)), "muted"),), right=True),
        Column("actors", 6, 1, lambda one: ((str(one.actors_total or len(one.actors)), "muted"),), right=True),
        Column("state", 6, 0, lambda one: (("ended" if one.ended_at is not None else "alive", "muted"),)),
    ]
