"""The parts of a page: section heads, labelled facts, wrapped sentences."""

from __future__ import annotations

from hangtop.common import text
from hangtop.render.spans import Row, align, cut, width_of
from hangtop.translations import say

LABEL_CELLS = 8
FACT_CELLS = 14


def section(title: str, width: int, said: str = "") -> Row:
    """A section head: title, words beside it, and a rule to the edge."""
    title, more = say(title), f"{say(said)} " if said else ""
    rule = "─" * max(0, width - text.cells(title) - text.cells(more) - 2)
    return cut(((title, "ink bold"), ("  ", ""), (more, "muted"), (rule, "faint")), width)


def fact_row(label: str, value: str, width: int) -> Row:
    return cut((align(say(label), FACT_CELLS, "muted"), (value, "ink")), width)


def hanging(head: Row, sentence: str, width: int, role: str) -> list[Row]:
    """A sentence beside `head`; its further lines begin where it begins."""
    indent = width_of(head)
    lines = text.wrap(sentence, max(20, width - indent))
    return [(*(((" " * indent, ""),) if number else head), (line, role)) for number, line in enumerate(lines)]


def wrapped(sentence: str, width: int, *, label: str = "", role: str = "ink") -> list[Row]:
    lines = text.wrap(sentence, max(20, width - LABEL_CELLS - 6))
    return [
        (("    ", ""), align(say(label) if not number else "", LABEL_CELLS, "muted"), (line, role))
        for number, line in enumerate(lines)
    ]
