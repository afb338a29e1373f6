"""An answer of the database as rows, made when they come into sight: it may have thousands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from hangtop.common.text import cells
from hangtop.query.requests import Shown
from hangtop.render.spans import Row, Span, align, cut

WIDEST = 60
"""Cells of a column, but the last, which takes what is left."""
GAP = 2


class ResultTable:
    """`shown`: what it holds. `left`: the first column in sight."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown
        self.left = 0
        columns = zip(*(shown.names, *shown.cells), strict=True) if shown.names else ()
        self._widths = [max(map(cells, column)) for column in columns]

    def __len__(self) -> int:
        return len(self.shown.cells)

    def names(self, width: int) -> Row:
        """The row of names."""
        return self._row(self.shown.names, width, "muted underline")

    def row(self, number: int, width: int) -> Row:
        """One row in so many cells."""
        return self._row(self.shown.cells[number], width, "ink")

    def within(self, width: int) -> Sequence[Row]:
        """All rows, for a page of this width."""
        return _Rows(self, width)

    def _row(self, texts: Sequence[str], width: int, role: str) -> Row:
        row: list[Span] = []
        for place in range(self.left, len(texts)):
            wide = self._widths[place] if place == len(texts) - 1 else min(self._widths[place], WIDEST)
            row += [(" " * GAP, "")] if row else []
            row.append(align(texts[place], wide, role, right=self.shown.right[place]))
        return cut(tuple(row), width)


class _Rows(Sequence[Row]):
    def __init__(self, table: ResultTable, width: int) -> None:
        self._table, self._width = table, width

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, int):
            return self._table.row(place, self._width)
        return [self._table.row(number, self._width) for number in range(len(self))[place]]
