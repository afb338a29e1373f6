"""Two ranks side by side, or one and the median of its peers: facts, stacks, logs. Pure."""

from __future__ import annotations

from hangtop.render.pair.pair import Pair, pair_of
from hangtop.render.pair.pair_facts import fact_rows
from hangtop.render.pair.pair_logs import log_rows
from hangtop.render.pair.pair_stacks import stack_rows
from hangtop.render.rank_rows import odd_role
from hangtop.render.spans import BLANK, Row
from hangtop.render.view import View
from hangtop.render.wrap import section
from hangtop.translations import say


def pair_rows(view: View, rank: int, other: int | None, width: int) -> list[Row]:
    """`other`: the rank beside it; `None`: the median of all the others."""
    pair = pair_of(view, rank, other)
    if pair is None:
        return [((_nothing(view, rank, other), "muted"),)]
    apart = view.verdict is not None and rank in view.verdict.apart
    role = odd_role(view.verdict) if apart else "warn"
    return [
        section("Facts", width, say("differences first")),
        *fact_rows(view, pair, width, role),
        BLANK,
        section("Stacks", width, say("innermost frame first; on one line what is equally far from the outermost")),
        *stack_rows(pair, view.now, width, role),
        BLANK,
        section("Logs", width, say("one clock, the newest lines of both")),
        *log_rows(view, pair, width),
    ]


def title_of(pair: Pair) -> str:
    """`rank 3 beside rank 0`."""
    return say(f"{pair.left.name} beside {pair.right.name}")


def _nothing(view: View, rank: int, other: int | None) -> str:
    known = {each.rank for each in view.ranks}
    missing = next((each for each in (rank, other) if each is not None and each not in known), None)
    return say(f"Nothing is known of rank {missing} any more." if missing is not None else "The only rank")
