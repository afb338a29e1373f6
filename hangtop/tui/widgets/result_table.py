"""An answer of the database as rows, made when they come into sight: it may have thousands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from hangtop.common.text import cells
from hangtop.query.requests import MOST_SERIES, Shown
from hangtop.render.spans import Row, Span, align, cut

WIDEST = 60
"""Cells of a column, but the last, which takes what is left."""
GAP = 2
NUMBERED = ("rank", "gpu")


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

    def pair(self, nth: int) -> tuple[int, int] | None:
        """The columns for a chart: the first of the numbers, and the one that is `nth` after it; `None` if there is none. What
        tells series apart is none of them."""
        apart = self.apart
        counts = [any(row[place] is not None for row in self.shown.points) for place in range(len(self.shown.names))]
        numbers = [place for place, has in enumerate(counts) if has and place not in apart and place not in self.shown.words]
        return (numbers[0], numbers[nth + 1]) if 0 <= nth < len(numbers) - 1 else None

    @property
    def apart(self) -> tuple[int, ...]:
        """The columns that tell several series apart: few different texts, or numbers of ranks or GPUs."""
        names = self.shown.names
        found = [*self.shown.words, *(nth for nth, name in enumerate(names) if name in NUMBERED and nth not in self.shown.words)]
        kinds = {nth: len({row[nth] for row in self.shown.points}) for nth in found}
        return tuple(nth for nth, count in kinds.items() if 1 < count <= MOST_SERIES and nth != self._first_axis)

    @property
    def _first_axis(self) -> int | None:
        """Where only two columns are numbers, the first is the axis, whatever it is called."""
        numbers = [nth for nth, right in enumerate(self.shown.right) if right or nth in self.shown.moments]
        return numbers[0] if len(numbers) < 3 and numbers else None

    def series(self, x: int, y: int) -> tuple[tuple[str, tuple[tuple[float, float], ...]], ...]:
        """The points of these columns, series by series."""
        found: dict[tuple[float | None, ...], list[tuple[float, float]]] = {}
        apart = self.apart
        for row in self.shown.points:
            first, second = row[x], row[y]
            if first is not None and second is not None:
                found.setdefault(tuple(row[nth] for nth in apart), []).append((first, second))
        return tuple((" ".join(map(self._word, apart, key)), tuple(points)) for key, points in found.items())[:MOST_SERIES]

    def _word(self, column: int, value: float | None) -> str:
        if value is None:
            return "?"
        words = self.shown.words.get(column)
        return words[int(value)] if words is not None else f"{self.shown.names[column]} {value:g}"

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
