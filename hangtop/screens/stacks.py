"""All ranks' stacks, folded into classes, the odd ones first: taken when the screen opens, and again with each `s`."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from hangtop.diagnosis.case import look
from hangtop.diagnosis.stacks import each_thread, number
from hangtop.panes.keys import Key
from hangtop.panes.line import Row
from hangtop.panes.plan_rows import plain
from hangtop.panes.stack_rows import StackView, rows, summary
from hangtop.panes.view import View
from hangtop.ranks import join
from hangtop.records.ask import StacksAsk
from hangtop.records.stack import Stack
from hangtop.screens.page import PAGE_KEYS, PageScreen

MOST_PIDS = 256


class StacksScreen(PageScreen):
    """The run is not stopped by a look."""

    keys = (
        Key("", "Enter", "", "unfold", ""),
        Key("", "s", "", "take again", ""),
        Key("", "a", "", "all threads", ""),
        Key("", "y", "", "copy", ""),
        *PAGE_KEYS,
    )
    BINDINGS: ClassVar[list[BindingType]] = [("s", "again", "again"), ("a", "threads", "all threads"), ("y", "copy", "copy")]

    def __init__(self) -> None:
        super().__init__()
        self._all_threads = self._unfolded = False
        self._asked: int | None = None
        self._said = ""

    def on_mount(self) -> None:
        self.action_again()

    def head(self, view: View) -> Row:
        shown = self._view(view)
        told = self._said or ("" if shown is None else summary(shown))
        return ((view.title, "ink bold"), ("   ", ""), (told or "stacks", "ink"))

    def rows(self, view: View, width: int) -> list[Row]:
        if why := self._why_not(view):
            return [((why, "ink"),)]
        shown = self._view(view)
        waits: list[Row] = [(("Taking the stacks …", "muted"),)] if self._waits(view) else []
        return [*waits, *([] if shown is None else rows(shown, width))]

    def open(self) -> None:
        self._unfolded = not self._unfolded
        self.show(self.hangtop.view)

    def action_again(self) -> None:
        """Another look; the one before stays to be compared with."""
        app = self.hangtop
        case = look(app.state, app.spec, app.now())
        if app.replay is None and case.pids:
            self._asked, self._said = int(app.now() * 1000), ""
            app.feed.ask(StacksAsk(ask=self._asked, pids=case.pids[:MOST_PIDS]))
        self.show(app.view)

    def action_threads(self) -> None:
        self._all_threads = not self._all_threads
        self.show(self.hangtop.view)

    def action_copy(self) -> None:
        """To the terminal's clipboard, as plain text (OSC 52: not every terminal takes it)."""
        app = self.hangtop
        found = self.rows(app.view, 160)
        app.copy_to_clipboard("\n".join(plain(row) for row in found))
        self._said = f"{len(found)} lines copied, if this terminal permits it: hangtop stacks prints the same"
        self.show(app.view)

    def _view(self, view: View) -> StackView | None:
        looks = view.state.looks
        if not looks:
            return None
        known = {rank.rank: rank.pid for rank in join(view.state) if rank.pid is not None}
        stacks: tuple[Stack, ...] = number(looks[-1].stacks, known)
        culprits = frozenset(one.rank for one in view.verdict.culprits if one.rank is not None) if view.verdict else frozenset()
        shown = each_thread(stacks) if self._all_threads else stacks
        unfolded = frozenset(range(len(shown))) if self._unfolded else frozenset()
        return StackView(looks, shown, culprits, unfolded)

    def _waits(self, view: View) -> bool:
        looks = view.state.looks
        return self._asked is not None and not any(one.ask == self._asked and (one.done or one.problem) for one in looks)

    def _why_not(self, view: View) -> str:
        """Why there can be no stacks, in one line."""
        if view.state.looks:
            return ""
        health = view.state.health.get("stacks")
        if health is not None and (said := health.problem or health.absent):
            return f"No stacks: {said}"
        if self.hangtop.replay is not None:
            return "No stacks were taken until this moment of the recording."
        if "stacks" not in view.spec.sources:
            return "No stacks: --sources leaves them out."
        return (
            ""
            if self._asked is not None
            else "No process of this run is known on this machine: give --pid, or run hangtop there."
        )
