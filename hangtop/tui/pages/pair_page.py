"""The page of two ranks side by side: facts, stacks, logs on one clock."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.ask import StacksAsk
from hangtop.render.pair.pair import pair_of
from hangtop.render.pair.pair_rows import pair_rows, title_of
from hangtop.render.spans import Row
from hangtop.render.view import View
from hangtop.tui.bindings import bindings
from hangtop.tui.keys import PAGE_KEYS, PAIR_PAGE
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.selection import Selection

MOST_PIDS = 256


class PairScreen(PageScreen):
    """`rank` on the left; on the right the median of its peers, or the rank that arrows to the side choose. Where no stacks were
    taken yet they are asked for, which stops nothing."""

    keys = (*PAIR_PAGE, *PAGE_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(PAIR_PAGE)

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.other: int | None = None

    @property
    def selection(self) -> Selection:
        return Selection(self.rank)

    def on_mount(self) -> None:
        app = self.hangtop
        if app.replay is None and not app.state.looks:
            self.action_again()

    def head(self, view: View) -> Row:
        pair = pair_of(view, self.rank, self.other)
        return ((f"rank {self.rank}" if pair is None else title_of(pair), "ink"),)

    def rows(self, view: View, width: int) -> list[Row]:
        return pair_rows(view, self.rank, self.other, width)

    def action_against(self, by: int) -> None:
        """The median, then each other rank, and around again."""
        others: list[int | None] = [None, *sorted(rank.rank for rank in self.hangtop.view.ranks if rank.rank != self.rank)]
        at = others.index(self.other) if self.other in others else 0
        self.other = others[(at + by) % len(others)]
        self.show(self.hangtop.view)

    def action_swap(self) -> None:
        """The rank on the right comes to the left."""
        if self.other is not None:
            self.rank, self.other = self.other, self.rank
            self.hangtop.choose_rank(self.rank)
            self.show(self.hangtop.view)

    def action_again(self) -> None:
        """Take the stacks again."""
        app = self.hangtop
        pids = () if app.replay is not None else take_snapshot(app.state, app.spec, app.now()).pids[:MOST_PIDS]
        if pids:
            app.feed.ask(StacksAsk(int(app.now() * 1000), pids))
