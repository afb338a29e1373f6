"""The form of a line: what all lines have in common that differ in numbers alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hangtop.common.grouped import grouped
from hangtop.common.late_pattern import late_pattern
from hangtop.records.log import LogLine

_NUMBERS = late_pattern(r"0x[0-9a-fA-F]+|\d+(?:[.,:/-]\d+)*(?:e[+-]?\d+)?|\bnan\b|\binf\b")
_WHOLE = late_pattern(r"\d{1,9}")
COUNTED = 3
"""So often a number must have gone up by one."""


def form_of(line: LogLine) -> str:
    """Its words."""
    return form_of_text(line.text)


def form_of_text(text: str) -> str:
    """Its words: a number is no difference, nor are the blanks that set it in a column."""
    return " ".join(_NUMBERS.sub("#", text).split())


def counts_up(lines: Iterable[LogLine]) -> bool:
    """Whether several lines of one form count: their first number, whatever it is of, goes up by one each time. Requests to a
    server do not."""
    counts = grouped(lines, form_of).values()
    firsts = ([int(found[0]) for line in each if (found := _WHOLE.search(line.text)) is not None] for each in counts)
    return any(sum(1 for one, other in pairwise(each) if other == one + 1) >= COUNTED for each in firsts)
