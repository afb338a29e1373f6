"""Longer sentences on pages: wrapped at words, with a label on the first line."""

from __future__ import annotations

from hangtop import text
from hangtop.panes.line import Row, align

LABEL_CELLS = 8


def wrapped(sentence: str, width: int, *, label: str = "", role: str = "ink") -> list[Row]:
    lines = text.wrap(sentence, max(20, width - LABEL_CELLS - 6))
    return [
        (("    ", ""), align(label if not number else "", LABEL_CELLS, "muted"), (line, role))
        for number, line in enumerate(lines)
    ]
