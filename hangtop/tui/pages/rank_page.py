"""The page of one rank against its peers: differences come first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hangtop.common import text
from hangtop.diagnosis.facts.gpu_outliers import facts
from hangtop.diagnosis.members.rank_gpus import of_run
from hangtop.records.nodes import pid_there
from hangtop.records.parallel_layout import place_words
from hangtop.records.rank import Rank
from hangtop.records.verdict import Culprit
from hangtop.render.log.log_rows import line_row
from hangtop.render.processes.life_signs import life_signs
from hangtop.render.processes.process_lines import odd_places
from hangtop.render.processes.process_rows import RowLook, table_rows
from hangtop.render.processes.process_tree import Folds, tree
from hangtop.render.rank_details import beside_rows, collective_facts, fact_rows, gpu_facts
from hangtop.render.rank_rows import odd_role, world_of
from hangtop.render.spans import BLANK, Row, cut, dotted
from hangtop.render.view import View
from hangtop.render.wrap import section
from hangtop.translations import say
from hangtop.tui.keys import PAGE_KEYS, Key
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.pages.process_page import all_members, below, parents
from hangtop.tui.selection import Selection
from hangtop.tui.widgets.layout import GAP, side_by_side

LINES = 200
TWO_COLUMNS = 100


class RankScreen(PageScreen):
    """Arrows go to the next rank."""

    keys = (Key(shown="↑↓", word="next rank", of=("up", "down")), *PAGE_KEYS)

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank

    @property
    def selection(self) -> Selection:
        return Selection(self.rank)

    def head(self, view: View) -> Row:
        rank = next((rank for rank in view.ranks if rank.rank == self.rank), None)
        known: list[Row] = [((say(f"rank {self.rank} of {world_of(view)}"), "ink"),)]
        if rank is not None:
            parts = (
                place_words(rank.place),
                rank.host,
                rank.pid and f"pid {pid_there(rank.pid)}",
                None if rank.gpu is None else f"GPU {rank.gpu}",
                rank.actor and f"actor {rank.actor}",
            )
            known += [((word, "muted"),) for word in parts if word]
        return dotted(known)

    def rows(self, view: View, width: int) -> list[Row]:
        ranks = view.ranks
        rank = next((rank for rank in ranks if rank.rank == self.rank), None)
        if rank is None:
            return [((say(f"Nothing is known of rank {self.rank} any more."), "muted"),)]
        culprit = next((c for c in view.verdict.culprits if c.rank == self.rank), None) if view.verdict else None
        works = view.verdict is not None and self.rank in view.verdict.at_work
        role = odd_role(view.verdict) if culprit else "warn"
        titles = {stage.id: stage.title for stage in view.state.log.plan} if view.state.log else {}
        ranks = tuple(replace(rank, stage=titles.get(rank.stage or "", rank.stage)) for rank in ranks)
        rank = next(rank for rank in ranks if rank.rank == self.rank)
        peers = [peer for peer in ranks if peer is not rank]
        lines = [line for line in view.state.tail if line.rank == self.rank][-LINES:]
        return [
            *(_at_work(view, width) if works else _stands_out(culprit, role, width)),
            *_known_rows(rank, peers, view, width, role, odd=works or culprit is not None),
            BLANK,
            *_process_rows(rank, view, width),
            section("Log", width, say(f"lines of rank {self.rank}")),
            *([line_row(line, width) for line in lines] or [((say("none among the newest lines"), "muted"),)]),
        ]

    def move(self, by: int) -> None:
        ranks = sorted(rank.rank for rank in self.hangtop.view.ranks)
        if self.rank in ranks:
            self.rank = ranks[max(0, min(ranks.index(self.rank) + by, len(ranks) - 1))]
            self.hangtop.choose_rank(self.rank)


def _known_rows(rank: Rank, peers: Sequence[Rank], view: View, width: int, role: str, *, odd: bool) -> list[Row]:
    """The facts, with stack and past beside them, or below on a narrow screen."""
    more = (*collective_facts(view.state), *gpu_facts(view.state))
    left = width if width < TWO_COLUMNS else (width - GAP) * 9 // 20
    right = width - left - GAP if left < width else width
    beside = beside_rows(rank, view, right, role if odd else "")
    left = left if beside else width
    title = say(f"Against its {text.some(len(peers), 'peer')}" if peers else "The only rank")
    facts = [section(title, left, say("differences first" if peers else "")), *fact_rows(rank, peers, view.now, left, role, more)]
    if left == width:
        return [*facts, *([BLANK, *beside] if beside else [])]
    return side_by_side(facts, beside, left)


def _process_rows(rank: Rank, view: View, width: int) -> list[Row]:
    rows: list[Row] = []
    pid = rank.process.pid if rank.process is not None else None
    found = all_members(view) if pid is not None else []
    member = next((member for member in found if member.process.pid == pid and member.number == rank.rank), None)
    if member is not None:
        family = [member, *below(member, found)]
        look = RowLook(now=view.now, role=odd_role(view.verdict))
        rows += [section("Process", width, say(f"started by {parents(member, found)}"))]
        rows += [*table_rows(tree(family, odd_places(view, [member]), Folds()), look, width, full=True), BLANK]
    if beside := [*_gpu_facts(rank, view), *life_signs(view.state, view.now, trouble=True)]:
        rows += [section(say("Beside it"), width), *(cut(sign, width) for sign in beside), BLANK]
    return rows


def _gpu_facts(rank: Rank, view: View) -> list[Row]:
    """A GPU with a rank has no page of its own."""
    node = view.state.gpus.get(rank.host or "")
    found = () if node is None else facts(node, view.now, of_run(view.state, rank.host or ""))
    return [((say(f"GPU {fact.index}: {fact.text}"), fact.role),) for fact in found if fact.index == rank.gpu]


def _at_work(view: View, width: int) -> list[Row]:
    """What the verdict says of a rank that works while others wait for it."""
    headline = "" if view.verdict is None else say(view.verdict.headline)
    return [cut((("▌ ", "warn"), (say("AT WORK  "), "warn bold"), (headline, "ink bold")), width), BLANK]


def _stands_out(culprit: Culprit | None, role: str, width: int) -> list[Row]:
    if culprit is None:
        return []
    word = say("CULPRIT" if role == "bad" else "STANDS OUT")
    first, *more = text.wrap("; ".join(map(say, culprit.why)), max(20, width - text.cells(word) - 4))
    edge = ("▌ ", role)
    rows: list[Row] = [(edge, (f"{word}  ", f"{role} bold"), (first, "ink bold"))]
    rows += [(edge, (" " * (text.cells(word) + 2), ""), (line, "ink bold")) for line in (*more, f"({say(culprit.confidence)})")]
    return [*rows, BLANK]
