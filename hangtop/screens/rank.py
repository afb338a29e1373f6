"""Everything known of one rank, against its peers: what differs comes first."""

from __future__ import annotations

import textwrap

from msgspec.structs import replace

from hangtop import text
from hangtop.panes.keys import Key
from hangtop.panes.line import BLANK, Row, cut
from hangtop.panes.log_rows import line_row
from hangtop.panes.process_lines import odd_places
from hangtop.panes.process_rows import Look, table_rows
from hangtop.panes.process_signs import signs
from hangtop.panes.process_tree import Folds, tree
from hangtop.panes.rank_rows import odd_role, world_of
from hangtop.panes.view import View
from hangtop.ranks import Rank
from hangtop.records.verdict import Culprit
from hangtop.screens.help import section
from hangtop.screens.page import PAGE_KEYS, PageScreen
from hangtop.screens.process import all_members, below, parents
from hangtop.screens.rank_facts import fact_rows, gpu_facts

LINES = 200


class RankScreen(PageScreen):
    """Arrows go to the next rank."""

    keys = (Key("", "↑↓", "", "next rank", ""), *PAGE_KEYS)

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank

    def head(self, view: View) -> Row:
        return ((view.title, "ink bold"), ("   ", ""), (f"rank {self.rank} of {world_of(view)}", "ink"))

    def rows(self, view: View, width: int) -> list[Row]:
        ranks = view.ranks
        rank = next((rank for rank in ranks if rank.rank == self.rank), None)
        if rank is None:
            return [((f"Nothing is known of rank {self.rank} any more.", "muted"),)]
        culprit = next((c for c in view.verdict.culprits if c.rank == self.rank), None) if view.verdict else None
        role = odd_role(view.verdict) if culprit else "warn"
        titles = {stage.id: stage.title for stage in view.state.log.plan} if view.state.log else {}
        ranks = tuple(replace(rank, stage=titles.get(rank.stage or "", rank.stage)) for rank in ranks)
        rank = next(rank for rank in ranks if rank.rank == self.rank)
        peers = [peer for peer in ranks if peer is not rank]
        known = fact_rows(rank, peers, view.now, width, role, gpu_facts(view.state))
        title = f"Against its {text.some(len(peers), 'peer')}  differences first" if peers else "The only rank"
        return [
            *_stands_out(culprit, role, width),
            section(title, width),
            *known,
            BLANK,
            *_process_rows(rank, view, width),
            section(f"Log  lines of rank {self.rank}", width),
            *self._lines(view, width),
        ]

    def move(self, by: int) -> None:
        ranks = sorted(rank.rank for rank in self.hangtop.view.ranks)
        if self.rank in ranks:
            self.rank = ranks[max(0, min(ranks.index(self.rank) + by, len(ranks) - 1))]
            self.hangtop.choose_rank(self.rank)

    def _lines(self, view: View, width: int) -> list[Row]:
        lines = [line for line in view.state.tail if line.rank == self.rank][-LINES:]
        if not lines:
            return [(("none among the newest lines", "muted"),)]
        return [line_row(line, width) for line in lines]


def _process_rows(rank: Rank, view: View, width: int) -> list[Row]:
    """Its process and what that started, as in the pane; then what else shows life or trouble on its machine."""
    rows: list[Row] = []
    found = all_members(view) if rank.process is not None else []
    member = next(
        (one for one in found if rank.process is not None and one.process.pid == rank.process.pid and one.number == rank.rank),
        None,
    )
    if member is not None:
        family = [member, *below(member, found)]
        look = Look(now=view.now, role=odd_role(view.verdict))
        rows += [section(f"Process  started by {parents(member, found)}", width)]
        rows += [*table_rows(tree(family, odd_places(view, [member]), Folds()), look, width, full=True), BLANK]
    if beside := signs(view.state, view.now, trouble=True):
        rows += [section("Beside it", width), *(cut(sign, width) for sign in beside), BLANK]
    return rows


def _stands_out(culprit: Culprit | None, role: str, width: int) -> list[Row]:
    """Why this rank is named, whole, however long."""
    if culprit is None:
        return []
    word = "CULPRIT" if role == "bad" else "STANDS OUT"
    first, *more = textwrap.wrap("; ".join(culprit.why), max(20, width - len(word) - 4)) or [""]
    edge = ("▌ ", role)
    rows: list[Row] = [(edge, (f"{word}  ", f"{role} bold"), (first, "ink bold"))]
    rows += [(edge, (" " * (len(word) + 2), ""), (line, "ink bold")) for line in (*more, f"({culprit.confidence})")]
    return [*rows, BLANK]
