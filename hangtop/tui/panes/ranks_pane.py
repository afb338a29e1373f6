"""Pane 2: all ranks: up to 16 as rows, more as a heat grid with the odd ones beside it."""

from __future__ import annotations

from hangtop.common.text import some
from hangtop.render.heat_grid import GridShape, blocks_of, grid_rows, grid_shape, legend_row, odd_rows, quiet_rows
from hangtop.render.rank_rows import RankRow, odd_word, rank_rows, summary, table_rows, world_of
from hangtop.render.spans import BLANK, Row, cut, dotted
from hangtop.render.under_mouse import rank_told
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.panes.pane import SelectablePane, one_line, part_in_sight
from hangtop.tui.widgets.layout import GAP, PaneNeed, side_by_side

MOST_ROWS = 16
LEAST_GRID = 14
HEAD_LINES = 2


class RanksPane(SelectablePane):
    """The choice is a rank: it stays when the order changes."""

    id_, title = "ranks", "Ranks"
    chosen: int | None

    def __init__(self) -> None:
        super().__init__()
        self._ranks: tuple[RankRow, ...] = ()
        self._shape: GridShape | None = None
        self._grid_top = self._odd_from = 0
        """The line, with the head, at which the grid begins; the cell at which odd ranks stand."""

    def want(self, view: View, width: int) -> PaneNeed:
        ranks = len(view.ranks)
        if not ranks:
            return PaneNeed(1)
        if ranks <= MOST_ROWS:
            return PaneNeed(HEAD_LINES + ranks)
        lines = max(LEAST_GRID, self.app.size.height // 2 - 6)
        return PaneNeed(len(self._grid(view, rank_rows(view, self.chosen), width, lines + HEAD_LINES)), wide=True)

    def body(self, view: View, width: int, height: int) -> list[Row]:
        self._ranks = rows = rank_rows(view, self.chosen)
        self.things, self.painted, self._shape = [row.rank.rank for row in rows], (), None
        if not rows:
            return one_line(self, _nothing(view), width)
        if len(rows) <= MOST_ROWS or self.hangtop.enlarged == "ranks" or height < 5:
            return self._table(view, rows, width, height)
        return self._grid(view, rows, width, height)

    def alarm(self, view: View) -> tuple[str, str] | None:
        odd = [row for row in rank_rows(view, self.chosen) if row.role]
        at_work = view.verdict is not None and bool(view.verdict.at_work)
        return (f"{len(odd)} {odd_word(view, odd) if at_work else 'odd'}", odd[0].role) if odd else None

    def _table(self, view: View, rows: tuple[RankRow, ...], width: int, height: int) -> list[Row]:
        shown = self.in_sight(height, len(rows))
        return [self.head(summary(view, rows), width, part_in_sight(shown, len(rows))), *table_rows(rows, width, shown=shown)]

    def _grid(self, view: View, rows: tuple[RankRow, ...], width: int, height: int) -> list[Row]:
        world = world_of(view)
        beside = width >= 120
        left = (width - GAP) // 2 if beside else width
        right = width - left - GAP if beside else width
        odd = odd_rows(rows, right, max(3, height - 8))
        named = [*odd, *([BLANK] if odd else [])]
        room = max(1, height - 2 - (0 if beside else len(named)))
        self._odd_from = left + GAP if beside else 0
        standing_out = [line for line, row in enumerate(rows) if row.role or row.chosen]
        told = len(odd) - 1 if len(odd) == 1 + len(standing_out) else max(0, len(odd) - 2)  # else the last one counts the rest
        self.painted = (None, None, *standing_out[:told])
        blocks = blocks_of(rows, world)
        grid = grid_rows(blocks, left, room)
        self._shape, self._grid_top = grid_shape(blocks, left, room), 1 if beside else 1 + len(named)
        grid = [*grid, *([BLANK] if len(grid) < room else []), legend_row(grid)]
        side = [*named, *quiet_rows(rows, world, right)]
        top = self.head(dotted((summary(view, rows), ((some(world, "rank"), "muted"),))), width)
        if not beside:
            return [top, *named, *grid]
        return [top, *side_by_side(grid, [cut(row, right) for row in side], left)]

    def line_at(self, x: int, y: int) -> int | None:
        line = super().line_at(x, y)
        if self._shape is None or (line is not None and x >= self._odd_from):
            return line
        rank = self._shape.rank_at(x, y + int(self.headless) - self._grid_top)
        return self.things.index(rank) if rank in self.things else None

    def told(self, x: int, y: int) -> str:
        line = self.line_at(x, y)
        return "" if line is None else rank_told(self._ranks[line])

    def unchoose(self) -> bool:
        """Give up the choice; true if there was one."""
        had, self.chosen = self.chosen is not None, None
        return had


def _nothing(view: View) -> Row:
    return ((say("reading …" if not view.reading_yet else "none named in the log yet"), "muted"),)
