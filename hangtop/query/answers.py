"""An answer as text: a table for people, Markdown, CSV, or a JSON object a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

import msgspec
from rich.cells import cell_len as width_of

from hangtop.common.clean_text import clean_text
from hangtop.query.database import Answer

Format = Literal["table", "csv", "json", "md"]
LONGEST_CELL = 100
"""Columns of a line of a table; CSV and JSON hold everything."""


def written(answer: Answer, wanted: Format) -> Iterator[str]:
    """The lines of the answer, without line ends."""
    return WRITERS[wanted](answer)


def _table(answer: Answer) -> Iterator[str]:
    rows = [tuple(_short(cell(value)) for value in row) for row in answer.rows]
    widths = [max(map(width_of, column)) for column in zip(answer.names, *rows, strict=True)]
    right = [is_number(kind) for kind in answer.types]
    for row in (answer.names, tuple("─" * width for width in widths), *rows):
        cells = (_padded(*each) for each in zip(row, widths, right, strict=True))
        yield "  ".join(cells).rstrip()


def _markdown(answer: Answer) -> Iterator[str]:
    def line(cells: tuple[str, ...]) -> str:
        return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"

    yield line(answer.names)
    yield line(tuple("---:" if is_number(kind) else "---" for kind in answer.types))
    for row in answer.rows:
        yield line(tuple(map(cell, row)))


def _csv(answer: Answer) -> Iterator[str]:
    for row in (answer.names, *answer.rows):
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow([cell(value) for value in row])
        yield text.getvalue()


def _json(answer: Answer) -> Iterator[str]:
    for row in answer.rows:
        yield msgspec.json.encode(dict(zip(answer.names, map(_plain, row), strict=True)), enc_hook=str).decode()


WRITERS: dict[Format, Callable[[Answer], Iterator[str]]] = {"table": _table, "md": _markdown, "csv": _csv, "json": _json}


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def cell(value: Any) -> str:
    """One value as text; foreign text without control codes."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.10g}"
        case datetime() | date():
            return str(value)
    return clean_text(str(value)).replace("\n", " ")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def is_number(kind: str) -> bool:
    return kind.split("(")[0] in {"BIGINT", "INTEGER", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL", "SMALLINT", "UBIGINT"}


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - width_of(text))
    return space + text if right else text + space
