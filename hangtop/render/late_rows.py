"""Who lagged when: a row for each rank, a column for each moment, the darker the later it came to a step than its peers. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby

from hangtop.common import text
from hangtop.render.spans import Row, Span, align, cut
from hangtop.translations import say

SHADES: tuple[tuple[str, str], ...] = (("·", "faint"), ("░", "data"), ("▒", "warn"), ("▓", "warn bold"), ("█", "bad bold"))
LEAST_S = 1.0
"""The clock of most logs has no parts of a second."""

Values = Sequence[float | None]


def late_rows(ranks: Sequence[tuple[str, Values]], cursor: int, label: int, width: int) -> list[Row]:
    """The ranks by name, with seconds by column; nothing where none was late."""
    most = max((value or 0.0 for _, values in ranks for value in values), default=0.0)
    if most < LEAST_S:
        return []
    shade = _shade(most)
    rows: list[Row] = [
        ((say("Late"), "ink bold"), ("  ", ""), (say("seconds after its peers, at most "), "muted"), (_told(most), "ink"))
    ]
    for name, values in ranks:
        here = _told(values[cursor] or 0.0) if values[cursor] is not None else ""
        room = label - text.cells(say(name))
        spans: list[Span] = [(say(name), "muted"), align(here, max(0, room), "accent bold", right=True), (" ", "")]
        cells = [(*shade(value), at == cursor) for at, value in enumerate(values)]
        for (sign, role, chosen), alike in groupby(cells):
            spans.append((sign * len(list(alike)), "accent reverse" if chosen else role))
        rows.append(cut(tuple(spans), width))
    return [cut(row, width) for row in rows]


def _shade(most: float) -> Callable[[float | None], tuple[str, str]]:
    """By how many digits: a rank that is lost for an hour must not hide one that was late for ten seconds."""

    def shade(value: float | None) -> tuple[str, str]:
        if value is None:
            return " ", ""
        if value < LEAST_S:
            return SHADES[0]
        part = math.log(1 + value) / math.log(1 + most)
        return SHADES[max(1, min(len(SHADES) - 1, math.ceil(part * (len(SHADES) - 1))))]

    return shade


def _told(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds < 60 else text.duration(seconds)
