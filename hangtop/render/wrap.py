"""Facts and longer sentences on pages: a label, then what there is to say, wrapped at words where it is long."""

from __future__ import annotations

from hangtop.common import text
from hangtop.render.spans import Row, align, cut

LABEL_CELLS = 8
FACT_CELLS = 14


def fact_row(label: str, value: str, width: int) -> Row:
    return cut((align(label, FACT_CELLS, "muted"), (value, "ink")), width)


def wrapped(sentence: str, width: int, *, label: str = "", role: str = "ink") -> list[Row]:
    lines = text.wrap(sentence, max(20, width - LABEL_CELLS - 6))
    return [
        (("    ", ""), align(label if not number else "", LABEL_CELLS, "muted"), (line, role))
        for number, line in enumerate(lines)
    ]
