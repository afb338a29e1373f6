"""Everything known of one rank, against its peers: what differs comes first."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from msgspec.structs import replace

from hangtop import text
from hangtop.panes.keys import Key
from hangtop.panes.line import BLANK, Row, align, cut
from hangtop.panes.log_rows import line_row
from hangtop.panes.rank_rows import odd_role, world_of
from hangtop.panes.view import View
from hangtop.ranks import Rank
from hangtop.records.verdict import Culprit
from hangtop.screens.help import section
from hangtop.screens.page import PAGE_KEYS, PageScreen

LINES = 200
LABEL, MINE, PEERS = 14, 16, 24


@dataclass(frozen=True)
class Fact:
    """One thing known of a rank. `same`: whether two values count as alike."""

    label: str
    read: Callable[[Rank, float], object]
    shown: Callable[[object], str] = str
    slack: float = 0.0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


FACTS: tuple[Fact, ...] = (
    Fact("stage", lambda r, now: r.stage),
    Fact("step", lambda r, now: r.step, lambda v: f"{v:,}"),
    Fact("of", lambda r, now: r.total, lambda v: f"{v:,}"),
    Fact("s/step", lambda r, now: r.step_s, lambda v: text.pace(_number(v)), slack=0.25),
    Fact("quiet", lambda r, now: r.silence_s(now), lambda v: text.age(_number(v)), slack=1.0),
    Fact("host", lambda r, now: r.host),
    Fact("pid", lambda r, now: r.pid),
    Fact("gpu", lambda r, now: r.gpu),
    Fact("local rank", lambda r, now: r.local_rank),
    Fact("actor", lambda r, now: r.actor),
    Fact("state", lambda r, now: r.state),
    Fact("CPU %", lambda r, now: r.cpu_percent, lambda v: f"{_number(v):.0f}", slack=0.5),
    Fact("waits in", lambda r, now: r.wchan),
    Fact("lines", lambda r, now: r.lines or None, lambda v: f"{v:,}", slack=0.5),
)
OWN = frozenset({"pid", "gpu", "local rank"})
"""These differ between any two ranks: no news."""


def fact_rows(rank: Rank, peers: Sequence[Rank], now: float, width: int, role: str) -> list[Row]:
    """Differences first."""
    facts = (*FACTS, *(_metric_fact(name) for name in sorted(rank.metrics)))
    told = [(_differs(fact, rank, peers, now), fact) for fact in facts if fact.read(rank, now) is not None]
    rows = [
        (
            ("  ", ""),
            align("", LABEL, ""),
            align(f"rank {rank.rank}", MINE, "muted", right=True),
            align("peers", PEERS, "muted", right=True),
        )
    ]
    for differs, fact in sorted(told, key=lambda pair: not pair[0]):
        mine = fact.shown(fact.read(rank, now))
        sign, colour = ("▸ ", f"{role} bold") if differs else ("  ", "ink")
        rows.append(
            (
                (sign, role),
                align(fact.label, LABEL, "muted"),
                align(mine, MINE, colour, right=True),
                align(_peers(fact, peers, now), PEERS, "ink", right=True),
            )
        )
    return [cut(row, width) for row in rows]


def _metric_fact(name: str) -> Fact:
    return Fact(name, lambda r, now: _metric(r, name), lambda v: text.metric(_number(v)), slack=1.0)


def _metric(rank: Rank, name: str) -> float | None:
    """`None` in the records is a value that is no number."""
    value = rank.metrics.get(name)
    return math.nan if value is None and name in rank.metrics else value


def _differs(fact: Fact, rank: Rank, peers: Sequence[Rank], now: float) -> bool:
    if fact.label in OWN or not peers:
        return False
    mine, others = fact.read(rank, now), [value for peer in peers if (value := fact.read(peer, now)) is not None]
    if not others:
        return False
    if not isinstance(mine, int | float):
        return mine not in others
    usual = median(_number(value) for value in others)
    return math.isnan(mine) or abs(mine - usual) > fact.slack * abs(usual) + (5 if fact.label == "quiet" else 0)


def _peers(fact: Fact, peers: Sequence[Rank], now: float) -> str:
    """Their value, or from the least to the greatest."""
    values = [value for peer in peers if (value := fact.read(peer, now)) is not None]
    if not values or fact.label in OWN:
        return ""
    if all(isinstance(value, int | float) for value in values):
        low, high = fact.shown(min(values, key=_number)), fact.shown(max(values, key=_number))
        return low if low == high else f"{low} to {high}"
    different = sorted({fact.shown(value) for value in values})
    return different[0] if len(different) == 1 else f"{len(different)} different"


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
        facts = fact_rows(rank, peers, view.now, width, role)
        title = f"Against its {text.some(len(peers), 'peer')}  differences first" if peers else "The only rank"
        return [
            *_stands_out(culprit, role, width),
            section(title, width),
            *facts,
            BLANK,
            section(f"Log  lines of rank {self.rank}", width),
            *self._lines(view, width),
        ]

    def move(self, by: int) -> None:
        ranks = sorted(self.hangtop.state.ranks)
        if self.rank in ranks:
            self.rank = ranks[max(0, min(ranks.index(self.rank) + by, len(ranks) - 1))]
            self.hangtop.choose_rank(self.rank)

    def _lines(self, view: View, width: int) -> list[Row]:
        lines = [line for line in view.state.tail if line.rank == self.rank][-LINES:]
        if not lines:
            return [(("none among the newest lines", "muted"),)]
        return [line_row(line, width) for line in lines]


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
