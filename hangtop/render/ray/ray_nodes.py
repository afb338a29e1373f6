"""Nodes × ranks: a row for each Ray node with a cell for each rank, odd nodes first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hangtop.common import text
from hangtop.common.grouped import grouped
from hangtop.common.memo import memoized
from hangtop.common.text import GIB
from hangtop.diagnosis.facts.ray_health import STALE_AFTER_S, outlier_actors, stale_since
from hangtop.records.ray.cluster import RayActor, RayCluster, RayNode
from hangtop.render.columns import Column, fitting, number_cell, snugged, table_row, title_row
from hangtop.render.ray.ray_rows import WAITING, MarkedRow, meant_to_end, state_word
from hangtop.render.spans import Row, cut
from hangtop.translations import say

MOST_CELLS = 32
MOST_METHODS = 3
LEGEND = (
    ("■", "data", "as peers"), ("▲", "warn", "waits to start"), ("◆", "bad", "odd"), ("✗", "bad", "dead"), ("□", "stale", "idle"),
)  # fmt: skip
"""An idle rank is between two calls."""


class NodeRow(MarkedRow, frozen=True, kw_only=True):
    """A node and its living actors, ranks first. `odd`: ids of actors that stand out."""

    node: RayNode
    label: str
    actors: tuple[RayActor, ...]
    odd: frozenset[str | None]
    silent_s: float | None

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(actor.rank for actor in self.actors if actor.rank is not None)


@memoized
def node_rows(cluster: RayCluster, now: float, trouble: bool, chosen: str | None = None) -> tuple[NodeRow, ...]:
    """Dead and silent nodes and nodes with an odd actor first, then by first rank. `chosen`: id of a node."""
    held = grouped((actor for actor in cluster.actors if not meant_to_end(actor)), lambda actor: actor.node)
    odd = {outlier.actor.id: outlier.actor.node for outlier in outlier_actors(cluster) if outlier.sure or trouble}
    names = Counter(node.host for node in cluster.nodes)
    stale = stale_since(cluster, now) is not None
    rows = []
    for node in cluster.nodes:
        silent_s = _silent_s(node, now)
        odd_here = frozenset(id_ for id_, where in odd.items() if where == node.id)
        row = NodeRow(
            node=node,
            label=f"{node.host}/{node.id[:4]}" if names[node.host] > 1 else node.host,
            actors=tuple(sorted(held.get(node.id, ()), key=lambda actor: (actor.rank is None, actor.rank or 0))),
            odd=odd_here,
            silent_s=silent_s,
            role="bad" if not node.alive or silent_s is not None or odd_here else "",
            stale=stale,
            chosen=node.id == chosen,
        )
        rows.append(row)
    # by the length of the label first: n9 before n10
    return tuple(
        sorted(rows, key=lambda row: (not row.role, not row.ranks, min(row.ranks, default=0), len(row.label), row.label))
    )


def _silent_s(node: RayNode, now: float) -> float | None:
    """Seconds since its last report, if that is too long."""
    old_s = 0.0 if node.moved_at is None else now - node.moved_at
    return old_s if node.alive and old_s > STALE_AFTER_S else None


def node_table(rows: Sequence[NodeRow], width: int, shown: slice = slice(None)) -> list[Row]:
    """Column titles, the nodes in `shown`, and the legend of the cells."""
    columns = fitting(snugged(_columns(rows), rows), width)
    return [title_row(columns, width), *(table_row(columns, row, width) for row in rows[shown]), cut(_legend(), width)]


def _legend() -> Row:
    return tuple(span for sign, role, word in LEGEND for span in ((sign, role), (f" {say(word)}  ", "muted")))


def _columns(rows: Sequence[NodeRow]) -> list[Column[NodeRow]]:
    cells = min(MOST_CELLS, max((len(_cells(row)) for row in rows), default=0))
    gpus = any(row.node.total.get("GPU") for row in rows)
    columns: list[tuple[bool, Column[NodeRow]]] = [
        (True, Column("", 1, 0, lambda row: (("▸", row.role),) if row.role else ())),
        (True, Column("node", 16, 0, lambda row: ((row.label, row.name_role),), gap=1, snug=True)),
        (
            any(row.ranks for row in rows),
            Column(
                "ranks", 9, 0, lambda row: ((text.rank_ranges(row.ranks) or text.NOT_APPLICABLE, row.role_of("ink")),), snug=True
            ),
        ),
        (cells > 0, Column("workers", max(7, cells), 0, _cells)),
        (True, Column("cpu %", 5, 5, lambda row: number_cell(row.node.cpu_percent, _quiet(row), ",.0f"), right=True)),
        (True, Column("mem G", 11, 4, _memory, right=True, snug=True)),
        (gpus, Column("gpus", 7, 6, _gpus, right=True, snug=True)),
        (True, Column("rss G", 6, 2, lambda row: _gib(row, (actor.rss_bytes for actor in row.actors)), right=True)),
        (
            gpus,
            Column("gpu G", 6, 3, lambda row: _gib(row, (actor.gpu_memory_bytes or None for actor in row.actors)), right=True),
        ),
        (True, Column("report", 7, 1, _report, right=True)),
        (True, Column("doing", 0, 0, _doing, least=12)),
    ]
    return [column for there, column in columns if there]


def _quiet(row: NodeRow) -> str:
    """Role of numbers, which never make a node odd."""
    return "stale" if row.stale or row.silent_s is not None or not row.node.alive else "ink"


def _cells(row: NodeRow) -> Row:
    """A cell for each rank; on a node without ranks for each actor."""
    shown = [actor for actor in row.actors if actor.rank is not None] or row.actors
    cells = tuple(cell_of(actor, row) for actor in shown[:MOST_CELLS])
    return (*cells[:-1], ("…", "muted")) if len(shown) > MOST_CELLS else cells


def cell_of(actor: RayActor, row: NodeRow) -> tuple[str, str]:
    """Sign and role of an actor, compared with its peers."""
    if not actor.has_process:
        return "✗", "bad"
    if actor.id in row.odd:
        return "◆", "bad"
    if row.stale or row.silent_s is not None or not row.node.alive:
        return "□", "stale"
    if actor.state in WAITING:
        return "▲", "warn"
    return ("■", "data") if actor.method or actor.state == "running" else ("□", "data")


def _memory(row: NodeRow) -> Row:
    used, total = row.node.memory_used_bytes, row.node.memory_bytes
    if used is None or not total:
        return ((text.UNKNOWN, "stale"),)
    return ((f"{used / GIB:,.0f}", _quiet(row)), (f"/{total / GIB:,.0f}", "muted"))


def _gpus(row: NodeRow) -> Row:
    total = row.node.total.get("GPU", 0.0)
    return ((f"{row.node.used.get('GPU', 0.0):g}", _quiet(row)), (f"/{total:g}", "muted"))


def _gib(row: NodeRow, sizes: Iterable[int | None]) -> Row:
    """The sum of the known sizes in GiB."""
    known = [size for size in sizes if size is not None]
    return number_cell(sum(known) / GIB if known else None, _quiet(row), ",.1f")


def _report(row: NodeRow) -> Row:
    if not row.node.alive:
        return (("dead", "bad"),)
    if row.silent_s is not None:
        return ((text.age(row.silent_s), "bad"),)
    return ((text.UNKNOWN, "stale"),) if row.node.moved_at is None else ((say("fresh"), "muted"),)


def _doing(row: NodeRow) -> Row:
    """`update_actor ×7, generate_sequences`: the most frequent methods first."""
    if not row.node.alive and row.node.death:
        return ((row.node.death, "bad"),)
    told = Counter(actor.method or state_word(actor) for actor in row.actors).most_common()
    parts = [f"{name} ×{count}" if count > 1 else name for name, count in told[:MOST_METHODS]]
    more = len(told) - MOST_METHODS
    return ((", ".join([*parts, *([f"{more} more"] if more > 0 else [])]) or text.NOT_APPLICABLE, row.role_of("muted")),)
