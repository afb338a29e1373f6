"""Where a bad run left a good one, in sections: the one with the first difference first. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from sys import maxsize

from hangtop.query.compare import Difference
from hangtop.query.differences import HEADINGS
from hangtop.render.spans import BLANK, Row, folded
from hangtop.render.wrap import section
from hangtop.translations import say

INDENT = 4


def diff_rows(found: Sequence[Difference], width: int) -> list[Row]:
    """All of it in so many cells."""
    if not found:
        return [((say("No difference beyond the good run's own spread."), "ok"),)]
    first = first_difference(found)
    rows: list[Row] = [section(say("Where they part first"), width), *_rows_of(first, width)]
    headings = sorted(HEADINGS, key=lambda about: about != first.about)
    for about in headings:
        told = sorted((each for each in found if each.about == about), key=_place)
        if told:
            rows += [BLANK, section(say(HEADINGS[about]), width, say(f"{len(told)}"))]
            rows += [row for each in told for row in _rows_of(each, width)]
    return rows


def first_difference(found: Sequence[Difference]) -> Difference:
    """That of the earliest step, else the first of all."""
    return min(found, key=_place)


def _place(each: Difference) -> int:
    return maxsize if each.step is None else each.step


def _rows_of(each: Difference, width: int) -> list[Row]:
    where: Row = () if each.step is None else (("  ", ""), (say(f"from step {each.step:,} on"), "warn"))
    told: Row = (
        ("  ", ""),
        (each.name, "ink bold"),
        *where,
        ("  ", ""),
        (each.bad, "bad"),
        ("  ", ""),
        (say("good run "), "muted"),
    )
    return folded((*told, (each.good, "muted")), width, INDENT)
