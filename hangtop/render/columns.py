"""Tables: columns as data, and the order in which they are dropped on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len

from hangtop.common import text
from hangtop.render.spans import Row, Span, cut, width_of
from hangtop.translations import say

Record = TypeVar("Record")


class Column(Struct, Generic[Record], frozen=True):
    """`cell`: the spans of a record, padded to `width` cells, to the right edge if `right`. `width` 0: the rest of the line, at
    least `least` cells. `snug`: no wider than the widest cell. `goes`: 0 stays always, else the lower the earlier it is
    dropped. `there`: whether this table has it at all."""

    title: str
    width: int
    goes: int
    cell: Callable[[Record], Row]
    right: bool = False
    least: int = 8
    gap: int = 2
    snug: bool = False
    there: bool = True


def value_cell(value: float | str | None, role: str, form: str = "", unknown: str = text.UNKNOWN) -> Row:
    """A value, or a pale sign where it is unknown. `form`: how it is formatted."""
    return ((unknown, "stale"),) if value is None else ((format(value, form), role),)


def number_cell(value: float | None, role: str, form: str = ".0f") -> Row:
    """As `value_cell`, by default without decimals."""
    return value_cell(value, role, form)


def bar_cell(part: float | None, width: int, role: str) -> Row:
    """A bar over a faint track; of an unknown part only the track."""
    filled, track = text.bar(part or 0.0, width)
    return ((filled, role), (track, "faint"))


def snugged(columns: Sequence[Column[Record]], records: Sequence[Record]) -> list[Column[Record]]:
    """The columns that are there; snug ones get the width that these records need."""

    def width(column: Column[Record]) -> int:
        widest = max((width_of(column.cell(record)) for record in records), default=0)
        return min(column.width, max(widest, cell_len(say(column.title))))

    return [replace(column, width=width(column)) if column.snug else column for column in columns if column.there]


def fitting(columns: Sequence[Column[Record]], width: int) -> list[Column[Record]]:
    """The columns that fit into `width` cells."""
    kept = [column for column in columns if column.there]
    while sum((column.width or column.least) + (column.gap if index else 0) for index, column in enumerate(kept)) > width:
        goers = [column for column in kept if column.goes]
        if not goers:
            break
        kept.remove(min(goers, key=lambda column: column.goes))
    return kept


def table_of(columns: Sequence[Column[Record]], records: Iterable[Record], width: int) -> list[Row]:
    """Column titles and a row for each record."""
    return [title_row(columns, width), *(table_row(columns, record, width) for record in records)]


def title_row(columns: Sequence[Column[Record]], width: int) -> Row:
    return _joined(columns, [((say(column.title), "muted"),) for column in columns], width)


def table_row(columns: Sequence[Column[Record]], record: Record, width: int) -> Row:
    return _joined(columns, [column.cell(record) for column in columns], width)


def _joined(columns: Sequence[Column[Record]], cells: Sequence[Row], width: int) -> Row:
    """The cells, padded. Padding is a span of its own without a role."""
    row: list[Span] = []
    used = blanks = 0
    for column, spans in zip(columns, cells, strict=True):
        gap = column.gap if used else 0
        room = column.width or max(column.least, width - used - gap)
        if (wide := width_of(spans)) > room:
            spans = cut(spans, room)
            wide = width_of(spans)
        blanks += gap + (room - wide if column.right else 0)
        if spans:
            row += [(" " * blanks, ""), *spans] if blanks else spans
            blanks = 0
        blanks += 0 if column.right else room - wide
        used += gap + room
    joined = (*row, (" " * blanks, ""))
    return joined if used <= width else cut(joined, width)
