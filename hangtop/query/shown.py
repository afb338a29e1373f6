"""An answer as the screen and a chart show it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from hangtop.query.answers import cell, is_number
from hangtop.query.database import Answer
from hangtop.query.requests import MOST_SERIES, Shown

MOST_ROWS = 2_000
LONGEST_CELL = 500


def shown(found: Answer, rows: Iterable[tuple[Any, ...]]) -> Shown:
    """An answer as the screen shows it."""
    cells: list[tuple[str, ...]] = []
    points: list[tuple[float | None, ...]] = []
    words: dict[int, dict[str, int]] = {nth: {} for nth, kind in enumerate(found.types) if kind == "VARCHAR"}
    count, every = 0, 1
    for row in rows:
        if count < MOST_ROWS:
            cells.append(tuple(cell(value)[:LONGEST_CELL] for value in row))
        if count % every == 0:
            points.append(tuple(_place(words, nth, value) if nth in words else _number(value) for nth, value in enumerate(row)))
            if len(points) == 2 * MOST_ROWS:
                points, every = points[::2], 2 * every
        count += 1
    moments = tuple(
        nth
        for nth, (name, kind) in enumerate(zip(found.names, found.types, strict=True))
        if kind.startswith(("TIMESTAMP", "DATE")) or (is_number(kind) and (name == "time_s" or name.endswith("_at")))
    )
    few = {nth: tuple(known) for nth, known in words.items() if 0 < len(known) <= MOST_SERIES}
    many = words.keys() - few.keys()
    return Shown(
        names=tuple(map(cell, found.names)),
        right=tuple(map(is_number, found.types)),
        cells=tuple(cells),
        points=tuple(tuple(None if nth in many else value for nth, value in enumerate(point)) for point in points),
        moments=moments,
        words=few,
        more=count - len(cells),
    )


def _place(words: dict[int, dict[str, int]], column: int, value: Any) -> float | None:
    """The place of this text among the different ones of its column, the first `MOST_SERIES` and one."""
    known, text = words[column], cell(value)[:LONGEST_CELL]
    return float(known.setdefault(text, len(known))) if text in known or len(known) <= MOST_SERIES else None


def _number(value: Any) -> float | None:
    match value:
        case bool():
            return None
        case int() | float() | Decimal():
            return float(value) if isfinite(value) else None
        case datetime():
            return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
        case date():
            return datetime(value.year, value.month, value.day).timestamp()
    return None
