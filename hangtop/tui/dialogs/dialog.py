"""A dialog: a box over the screen in front that takes all keys."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from hangtop.common.text import ascii_only, printable
from hangtop.render.verdict_labels import VerdictLabel, verdict_label
from hangtop.render.view import View
from hangtop.tui.live_screen import LiveScreen
from hangtop.tui.widgets.row_widget import RowWidget


class DialogScreen(LiveScreen, ModalScreen[None]):
    """The screens around the box go on. If the verdict changes meanwhile, the border says so."""

    DEFAULT_CSS = """
    DialogScreen { align: center middle; background: $background 60%; }
    DialogScreen #box { width: 92%; height: auto; border: heavy $accent; background: $surface; padding: 1 2; }
    DialogScreen.ascii #box { border: ascii $accent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._opened_under: VerdictLabel | None = None

    def parts(self) -> Iterable[RowWidget]:
        """The widgets in the box, top down."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        self.set_class(self.hangtop.ascii, "ascii")
        with Vertical(id="box"):
            yield from self.parts()

    @property
    def parts_shown(self) -> Iterable[Widget]:
        return self.query_one("#box").children

    def place(self, view: View) -> bool:
        now = verdict_label(view.verdict) if view.verdict is not None else None
        self._opened_under = self._opened_under or now
        changed = now is not None and now != self._opened_under
        sign = ascii_only if self.hangtop.ascii else printable
        self.query_one("#box").border_subtitle = sign(f"now {now.sign} {now.word}") if changed and now is not None else ""
        return False
