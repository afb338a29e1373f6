"""What is known of one rank, fact by fact, against its peers. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from rich.cells import cell_len

from hangtop import text
from hangtop.model import RunState
from hangtop.panes.line import Row, align, cut
from hangtop.ranks import Rank
from hangtop.records.gpu import Gpu

LABEL, MINE, PEERS = 14, 16, 24
"""Cells of the columns; the rank's own grows with what it has to say."""
WIDEST = 44
M = 1_000_000
A_MINUTE = 60 / 1.7e9
"""As a part of unix time."""


@dataclass(frozen=True)
class Fact:
    """One thing known of a rank. Numbers count as alike within `slack`, a part of the usual one, and `least`, a difference."""

    label: str
    read: Callable[[Rank, float], object]
    shown: Callable[[object], str] = str
    slack: float = 0.0
    least: float = 0.0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _mega(value: object) -> str:
    return f"{_number(value) / M:,.1f}"


def _below(rank: Rank, now: float) -> float | None:
    """Of its data loader workers, compilers and what else it started."""
    process = rank.process
    if process is None or process.subtree_cpu_percent is None or process.subtree_size < 2:
        return None
    return max(0.0, process.subtree_cpu_percent - (process.cpu_percent or 0.0))


FACTS: tuple[Fact, ...] = (
    Fact("stage", lambda r, now: r.stage),
    Fact("step", lambda r, now: r.step, lambda v: f"{v:,}"),
    Fact("of", lambda r, now: r.total, lambda v: f"{v:,}"),
    Fact("s/step", lambda r, now: r.step_s, lambda v: text.pace(_number(v)), slack=0.25),
    Fact("quiet", lambda r, now: r.silence_s(now), lambda v: text.age(_number(v)), slack=1.0, least=5.0),
    Fact("host", lambda r, now: r.host),
    Fact("pid", lambda r, now: r.pid),
    Fact("gpu", lambda r, now: r.gpu),
    Fact("local rank", lambda r, now: r.local_rank),
    Fact("actor", lambda r, now: r.actor),
    Fact("doing", lambda r, now: r.doing),
    Fact("state", lambda r, now: r.process.doing if r.process else r.state),
    Fact("waits in", lambda r, now: r.wchan),
    Fact("CPU %", lambda r, now: r.cpu_percent, lambda v: f"{_number(v):.0f}", slack=0.5, least=10.0),
    Fact("CPU % below", _below, lambda v: f"{_number(v):.0f}", slack=0.5, least=10.0),
    Fact("memory", lambda r, now: r.process and r.process.rss_bytes, lambda v: text.size(int(_number(v))), slack=0.25),
    Fact("threads", lambda r, now: r.process and r.process.threads, lambda v: f"{v:,}", slack=0.5, least=4.0),
    Fact("reads MB/s", lambda r, now: r.process and r.process.read_b_s, _mega, slack=1.0, least=M),
    Fact("writes MB/s", lambda r, now: r.process and r.process.write_b_s, _mega, slack=1.0, least=M),
    Fact("started", lambda r, now: r.started_at, lambda v: text.clock(_number(v)), slack=A_MINUTE),
    Fact("lines", lambda r, now: r.lines or None, lambda v: f"{v:,}", slack=0.5),
)
OWN = frozenset({"pid", "gpu", "local rank"})
"""These differ between any two ranks: no news."""


def gpu_facts(state: RunState) -> tuple[Fact, ...]:
    """Of the GPU that the rank computes on. A GPU in trouble has its status in words."""

    def gpu(rank: Rank) -> Gpu | None:
        node = state.gpus.get(rank.host or "") or (next(iter(state.gpus.values())) if len(state.gpus) == 1 else None)
        found = node.reading.gpus if node is not None else ()
        return next((one for one in found if one.index == rank.gpu), None)

    def of(read: Callable[[Gpu], object]) -> Callable[[Rank, float], object]:
        return lambda rank, now: read(found) if (found := gpu(rank)) is not None else None

    return (
        Fact("GPU status", of(lambda g: None if g.status == "ok" else g.status)),
        Fact("GPU util", of(lambda g: g.util_percent), lambda v: f"{_number(v):.0f} %", slack=0.25, least=10.0),
        Fact("GPU power", of(lambda g: g.power_w), lambda v: f"{_number(v):.0f} W", slack=0.25, least=30.0),
        Fact("GPU memory", of(lambda g: g.used_bytes), lambda v: text.size(int(_number(v))), slack=0.1),
    )


def fact_rows(rank: Rank, peers: Sequence[Rank], now: float, width: int, role: str, more: Sequence[Fact] = ()) -> list[Row]:
    """Differences first. `more`: facts that need more than the rank itself."""
    facts = (*FACTS, *more, *(_metric_fact(name) for name in sorted(rank.metrics)))
    told = [(_differs(fact, rank, peers, now), fact) for fact in facts if fact.read(rank, now) is not None]
    own = min(WIDEST, max([MINE, *(cell_len(fact.shown(fact.read(rank, now))) for _, fact in told)]))
    rows = [
        (
            ("  ", ""),
            align("", LABEL, ""),
            align(f"rank {rank.rank}", own, "muted", right=True),
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
                align(mine, own, colour, right=True),
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
    return math.isnan(mine) or abs(mine - usual) > fact.slack * abs(usual) + fact.least


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
