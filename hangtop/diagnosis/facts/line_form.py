"""The form of a line: what all lines have in common that differ in numbers alone. Pure."""

from __future__ import annotations

from hangtop.common.late_pattern import late_pattern
from hangtop.records.log import LogLine

_NUMBERS = late_pattern(r"0x[0-9a-fA-F]+|\d+(?:[.,:/-]\d+)*(?:e[+-]?\d+)?|\bnan\b|\binf\b")


def form_of(line: LogLine) -> str:
    """Its words."""
    return form_of_text(line.text)


def form_of_text(text: str) -> str:
    """Its words: a number is no difference, nor are the blanks that set it in a column."""
    return " ".join(_NUMBERS.sub("#", text).split())
