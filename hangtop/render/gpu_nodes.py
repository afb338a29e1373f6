"""The GPUs of many nodes: means per node, odd nodes first; silent nodes with the age of their values. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common import text
from hangtop.common.memo import memoized
from hangtop.common.text import rank_ranges
from hangtop.diagnosis.facts.gpu_outliers import BAD, NO_TRACK, ODD, FactKind, GpuFact, all_lately, busy_waits, facts, is_current
from hangtop.records.gpu import Gpu, GpuTrack, NodeGpus
from hangtop.records.health import NO_ANSWER_S
from hangtop.render.columns import Column, bar_cell, fitting, number_cell, table_of
from hangtop.render.gpu_rows import hard, titled, used_gib
from hangtop.render.spans import Row
from hangtop.translations import say

BAR = 8
POWER_BAR = 6
TREND = 16
_util, _power = attrgetter("util_percent"), attrgetter("power_w")
WORDS: dict[FactKind, str] = {"idle": "at 0 %", "empty": "empty", "little memory": "with little memory", "hot": "hot"}


class NodeRow(Struct, frozen=True):
    """The GPUs of a node in one row. `facts`: those that make a GPU stand out, of `all_facts`. `age_s`: of the newest value,
    if none is current."""

    host: str
    gpus: tuple[Gpu, ...]
    tracks: tuple[GpuTrack, ...]
    all_facts: tuple[GpuFact, ...]
    facts: tuple[GpuFact, ...]
    role: str = ""
    waits: bool = False
    age_s: float | None = None
    chosen: bool = False

    @property
    def fresh(self) -> bool:
        return self.age_s is None

    @property
    def bar_role(self) -> str:
        return "stale" if not self.fresh else "warn" if self.waits else "data"

    @property
    def limit_w(self) -> float | None:
        """Mean power limit."""
        return self.mean(lambda gpu: gpu.limit_w)

    def mean(self, read: Callable[[Gpu], float | None]) -> float | None:
        return _mean(map(read, self.gpus))

    def share(self, read: Callable[[Gpu], float | None], full: float | None) -> float | None:
        """The mean as a part of `full`; `None` where either is unknown."""
        mean = self.mean(read)
        return mean / full if mean is not None and full else None

    def number(self, read: Callable[[Gpu], float | None], role: str, form: str = ".0f") -> Row:
        return number_cell(self.mean(read), role if self.fresh else "stale", form)


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of the known values."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@memoized
def node_rows(nodes: Mapping[str, NodeGpus], now: float, *, trouble: bool) -> tuple[NodeRow, ...]:
    """Odd nodes first: the more of their GPUs stand out, the earlier."""
    rows = [_node_row(host, node, now, trouble=trouble) for host, node in nodes.items()]
    # by the length of the host's name first: n9 before n10
    return tuple(sorted(rows, key=lambda row: (row.role != "bad", row.fresh, row.role != "warn", len(row.host), row.host)))


def _node_row(host: str, node: NodeGpus, now: float, *, trouble: bool) -> NodeRow:
    said = facts(node, now)
    odd = tuple(fact for fact in said if fact.kind in ODD and (trouble or hard(fact)))
    gpus = all_lately(node, now)
    tracks = tuple(node.tracks.get(gpu.index, NO_TRACK) for gpu in gpus)
    silent = not any(is_current(gpu, now) for gpu in gpus)
    last = max((gpu.read_at for gpu in gpus if gpu.read_at is not None), default=node.at)
    waiting = sum(busy_waits(gpu) for gpu in gpus) > len(gpus) / 2
    role = "" if silent else "bad" if any(fact.kind in BAD for fact in odd) else "warn" if odd else ""
    return NodeRow(host, gpus, tracks, said, odd, role, waiting and trouble and not silent, now - last if silent else None)


def node_table(
    rows: Sequence[NodeRow], width: int, height: int, *, chosen: str | None = None, at: slice | None = None
) -> list[Row]:
    """Column titles and the nodes that fit, then how many more there are. `at`: the rows to show while a node is chosen."""
    columns = titled(fitting(_columns(rows), width))
    if at is not None:
        return table_of(columns, (replace(row, chosen=row.host == chosen) for row in rows[at]), width)
    shown = len(rows) if len(rows) < height else max(1, height - 2)
    table = table_of(columns, rows[:shown], width)
    if rest := rows[shown:]:
        like = say("more" if any(row.role or not row.fresh for row in rest) else "like these")
        table.append(((say(f"  and {text.some(len(rest), 'node')} {like}"), "muted"),))
    return table


def _columns(rows: Sequence[NodeRow]) -> list[Column[NodeRow]]:
    longest = max((len(row.host) for row in rows), default=4)
    old = any(not row.fresh for row in rows)
    return [
        Column("", 1, 0, lambda row: (("▸", row.role),) if row.role else ()),
        Column("node", min(12, max(4, longest)), 0, _host, gap=1),
        Column("gpus", 4, 2, lambda row: ((str(len(row.gpus)), "muted"),), right=True),
        Column("util %", BAR, 6, lambda row: bar_cell(row.share(_util, 100.0), BAR, row.bar_role)),
        Column("util", 4, 0, lambda row: row.number(_util, "ink"), right=True, gap=0),
        Column("power W", POWER_BAR + 1, 5, lambda row: bar_cell(row.share(_power, row.limit_w), POWER_BAR, row.bar_role)),
        Column("W", 4, 0, lambda row: row.number(_power, "ink"), right=True, gap=0),
        Column("mem G", 5, 0, lambda row: row.number(used_gib, "ink", ".1f"), right=True),
        Column("°C", 3, 3, lambda row: row.number(lambda gpu: gpu.temperature_c, "muted"), right=True),
        Column("age", 5, 0, _age, right=True, gap=1, there=old),
        Column("trend", TREND, 1, _trend),
        Column("odd", 0, 4, _odd, least=16, there=old or any(row.facts for row in rows)),
    ]


def _host(row: NodeRow) -> Row:
    if row.chosen:
        return ((row.host, "accent bold reverse"),)
    return ((row.host, f"{row.role} bold" if row.role else "ink" if row.fresh else "stale"),)


def _age(row: NodeRow) -> Row:
    return () if row.age_s is None else ((text.age(row.age_s), "stale"),)


def _trend(row: NodeRow) -> Row:
    """Mean power of the GPUs for each closed time slot, the newest last."""
    closed = [track.power_w.means[:-1] for track in row.tracks if len(track.power_w.means) > 1]
    means = [_mean(means[-back] for means in closed if len(means) >= back) for back in range(TREND, 0, -1)]
    return ((text.spark(means, TREND, floor=0.0, ceiling=row.limit_w or 0.0), "trend"),)


def _odd(row: NodeRow) -> Row:
    """`GPU 3, 6 at 0 %`; of several kinds of facts the gravest."""
    if not row.fresh:
        return (("no answer" if (row.age_s or 0) > NO_ANSWER_S else "late", "stale"),)
    if not row.facts:
        return ()
    first = row.facts[0]
    alike = sorted({fact.index for fact in row.facts if fact.kind == first.kind})
    said = first.text if len(alike) == 1 else WORDS.get(first.kind, first.kind)
    return ((say(f"GPU {rank_ranges(alike).replace(' ', ', ')} {said}"), row.role),)
