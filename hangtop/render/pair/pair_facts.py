"""The facts of two sides, those that differ first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hangtop.common.median import median
from hangtop.records.rank import Rank
from hangtop.render.pair.pair import Pair, Side
from hangtop.render.rank_details import FACTS, Fact, collective_facts, differs, gpu_facts, metric_fact
from hangtop.render.spans import Row, align, cut
from hangtop.render.view import View
from hangtop.translations import say

LABEL_CELLS, WIDEST = 12, 40


class PairFact(Struct, frozen=True):
    label: str
    left: str
    right: str
    differs: bool


def pair_facts(view: View, pair: Pair) -> list[PairFact]:
    """What is known of either side, those that differ first. Of several ranks numbers are their median."""
    metrics = sorted({name for side in (pair.left, pair.right) for rank in side.ranks for name in rank.metrics})
    facts = (*FACTS, *collective_facts(view.state), *gpu_facts(view.state), *map(metric_fact, metrics))
    known = [told for fact in facts if (told := _told(fact, pair, view.now)) is not None]
    return sorted(known, key=lambda told: not told.differs)


def _told(fact: Fact, pair: Pair, now: float) -> PairFact | None:
    left, right = (_value(fact, side.ranks, now) for side in (pair.left, pair.right))
    if left is None and right is None:
        return None
    apart = left is None or right is None or differs(fact, left, [right])
    if fact.news and not apart:
        return None
    return PairFact(fact.label, _shown(fact, left), _shown(fact, right), apart)


def _shown(fact: Fact, value: object) -> str:
    return "?" if value is None else say(fact.shown(value))


def _value(fact: Fact, ranks: Sequence[Rank], now: float) -> object:
    """Of several ranks the median, or what most of them say; `None` where nobody knows."""
    values = [value for rank in ranks if (value := fact.read(rank, now)) is not None]
    if len(values) < 2:
        return values[0] if values else None
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values):
        return Counter(values).most_common(1)[0][0]
    usual = median(numbers)
    return int(usual) if all(isinstance(value, int) for value in numbers) and usual == int(usual) else usual


def fact_rows(view: View, pair: Pair, width: int, role: str) -> Iterator[Row]:
    """A head with the names of both, then a row for each fact."""
    room = min(WIDEST, max(8, (width - LABEL_CELLS - 6) // 2))
    yield cut(
        (("  ", ""), align("", LABEL_CELLS, ""), *(part for side in (pair.left, pair.right) for part in _head(side, room))), width
    )
    for told in pair_facts(view, pair):
        sign, colour = ("▸ ", f"{role} bold") if told.differs else ("  ", "ink")
        beside = "ink bold" if told.differs else "muted"
        cells = (align(told.left, room, colour, right=True), ("  ", ""), align(told.right, room, beside, right=True))
        yield cut(((sign, role), align(say(told.label), LABEL_CELLS, "muted"), *cells), width)


def _head(side: Side, room: int) -> tuple[tuple[str, str], tuple[str, str]]:
    return align(side.name, room, "ink bold", right=True), ("  ", "")
