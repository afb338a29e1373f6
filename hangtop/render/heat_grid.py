"""The heat grid for more ranks than rows: one cell a rank, coloured by its distance from the peers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct, field

from hangtop.common import text
from hangtop.common.memo import memoized
from hangtop.render.rank_rows import RankRow, table_rows
from hangtop.render.spans import BLANK, Row, Span, align, cut
from hangtop.translations import say

BLOCK = 8
"""Ranks in a block where no host is known."""
LEGEND: tuple[tuple[str, str, str], ...] = (
    ("■", "data", "as peers"),
    ("▸", "warn", "works"),
    ("▲", "warn", "slower"),
    ("◆", "bad", "behind"),
    ("✗", "bad", "dead"),
    ("□", "stale", "no data"),
)
WORST = ("✗", "◆", "▸", "▲", "□", "■")


class RankBlock(Struct):
    """The ranks of one node, or eight ranks where nodes are unknown. `cells`: sign and role of each of `ranks`."""

    label: str
    cells: list[tuple[str, str]] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)

    @property
    def odd(self) -> bool:
        return any(sign in "▸▲◆✗" for sign, _ in self.cells)


def cell_of(row: RankRow | None) -> tuple[str, str]:
    """Sign and role of one rank."""
    if row is None:
        return "□", "stale"
    sign, role = _distance(row)
    return sign, "accent bold reverse" if row.chosen else role


def _distance(row: RankRow) -> tuple[str, str]:
    if row.rank.state in ("Z", "X"):
        return "✗", "bad"
    if row.role == "bad" or (row.role and row.rank.lag):
        return "◆", row.role
    if row.role and row.works:
        return "▸", row.role
    return ("▲", "warn") if row.role or (row.rank.lag or 0) > 1 else ("■", "data")


@memoized
def blocks_of(rows: Sequence[RankRow], world: int) -> list[RankBlock]:
    """Blocks by host, in the order of their first rank; unknown ranks are "no data"."""
    known = {row.rank.rank: row for row in rows}
    blocks: dict[str, RankBlock] = {}
    by_host = any(row.rank.host for row in rows)
    for rank in range(max(world, *(r + 1 for r in known))):
        row = known.get(rank)
        label = (row.rank.host if row and by_host else None) or str(rank // BLOCK * BLOCK)
        block = blocks.setdefault(label, RankBlock(label))
        block.cells.append(cell_of(row))
        block.ranks.append(rank)
    return list(blocks.values())


class GridShape(Struct):
    """How the blocks stand: `per_line` of them in a line, `per_block` cells each, behind `label` cells; a line is blank after
    every second one where it is `airy`. `gap`: between cells."""

    blocks: list[RankBlock]
    label: int
    per_block: int
    per_line: int
    gap: str
    airy: bool

    def rank_at(self, x: int, y: int) -> int | None:
        """The rank whose cell this is."""
        if y < 0 or (self.airy and y % 3 == 2):
            return None
        block = (y - y // 3 if self.airy else y) * self.per_line + x // self.per_block
        cell, between = divmod(x % self.per_block - self.label - 1, 1 + len(self.gap))
        if x // self.per_block >= self.per_line or block >= len(self.blocks) or cell < 0 or between:
            return None
        ranks = self.blocks[block].ranks
        return ranks[cell] if cell < len(ranks) else None


def grid_shape(blocks: Sequence[RankBlock], width: int, lines: int) -> GridShape | None:
    """As airy as fits: gaps between cells and lines, then without; `None` where only a cell a node fits."""
    label = min(12, max(len(block.label) for block in blocks))
    blocks = [part for block in blocks for part in _parts(block, max(1, width - label - 3))]
    cells = max(len(block.cells) for block in blocks)
    for gap, airy in ((" ", True), (" ", False), ("", False)):
        per_block = label + 1 + cells * (1 + len(gap)) + 2
        per_line = max(1, width // per_block)
        filled = math.ceil(len(blocks) / per_line)
        if gap and per_block > width:
            continue
        if filled + (filled - 1) // 2 * airy <= lines:
            return GridShape(blocks, label, per_block, per_line, gap, airy)
    return None


def grid_rows(blocks: Sequence[RankBlock], width: int, lines: int) -> list[Row]:
    """The grid; at last one cell a node."""
    shape = grid_shape(blocks, width, lines)
    if shape is None:
        cells_of_nodes = [min(block.cells, key=lambda cell: WORST.index(cell[0])) for block in blocks]
        return [tuple(cells_of_nodes[start : start + width]) for start in range(0, len(blocks), width)][:lines]
    starts = range(0, len(shape.blocks), shape.per_line)
    each = (shape.blocks[start : start + shape.per_line] for start in starts)
    rows = [cut(_line(some, shape.label, shape.per_block, shape.gap), width) for some in each]
    blank = (at for at in range(len(rows)) if shape.airy and at and at % 2 == 0)
    before = set(blank)
    return [line for at, row in enumerate(rows) for line in ((BLANK, row) if at in before else (row,))]


def _parts(block: RankBlock, most: int) -> list[RankBlock]:
    """A node that is wider than a line goes on in the next one, without its name."""
    cells, ranks = block.cells, block.ranks
    starts = range(0, len(cells), most)
    return [RankBlock("" if at else block.label, cells[at : at + most], ranks[at : at + most]) for at in starts]


def _line(blocks: Sequence[RankBlock], label: int, per_block: int, gap: str) -> Row:
    """Equal neighbours share one span: measuring a thousand spans is slow."""
    spans: list[Span] = []
    for block in blocks:
        spans += [align(block.label, label, "ink bold" if block.odd else "muted"), (" ", "")]
        spans += [((sign + gap) * len(list(alike)), role) for (sign, role), alike in groupby(block.cells)]
        spans.append((" " * (per_block - label - 1 - len(block.cells) * (1 + len(gap))), ""))
    return tuple(spans)


def legend_row(rows: Sequence[Row]) -> Row:
    """Only the signs that are there."""
    used = "".join(spans for row in rows for spans, _ in row)
    shown = [entry for entry in LEGEND if entry[0] in used]
    return tuple(span for sign, role, word in shown for span in ((f"{sign} ", role), (f"{say(word)}   ", "muted")))


def odd_rows(rows: Sequence[RankRow], width: int, lines: int) -> list[Row]:
    """The odd ranks and the chosen one as a table; the rest is counted."""
    odd = [row for row in rows if row.role or row.chosen]
    if not odd:
        return []
    table = table_rows(odd, width, hosts=any(row.rank.host for row in odd))
    if len(table) <= lines:
        return table
    return [*table[: lines - 1], ((say(f"  and {len(odd) - lines + 2} more"), "muted"),)]


@memoized
def quiet_rows(rows: Sequence[RankRow], world: int, width: int) -> list[Row]:
    """How many ranks are quiet for how long, as bars."""
    order = {text.age(row.quiet_s): -1.0 if row.quiet_s is None else row.quiet_s for row in rows}
    ages = sorted(Counter(text.age(row.quiet_s) for row in rows).most_common(4), key=lambda pair: order[pair[0]])
    without = world - len(rows)
    table: list[Row] = [((f"{'quiet':<12}", "muted"), (f"{'ranks':>6}", "muted"))]
    for label, number in (*ages, *([(say("no data"), without)] if without > 0 else [])):
        filled, track = text.bar(number / max(world, 1), max(6, min(40, width - 22)))
        table.append(((f"{label:<12}", "muted"), (f"{number:>6,}  ", "ink"), (filled, "data"), (track, "faint")))
    return [cut(row, width) for row in table]
