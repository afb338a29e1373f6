"""Charts of numbers over the last minutes, on one axis of time: one column for each time slot. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from hangtop.common import text
from hangtop.records.samples import SLOTS, Samples, until
from hangtop.render.spans import BLANK, Row, align, cut
from hangtop.render.wrap import section
from hangtop.translations import say

LABEL = 10
CHART_LINES = 2
LEAST_COLUMNS = 12


class Chart(Struct, frozen=True):
    """One number over time. `full`: the value that fills the chart. `shown`: formats a value for the label."""

    label: str
    samples: Samples
    full: float
    shown: Callable[[float], str]


def chart_rows(charts: Sequence[Chart], now: float, width: int, role: str = "", silent_s: float | None = None) -> list[Row]:
    """The charts; their slots have one length. `role`: colour of the last values. `silent_s`: marked on the time axis."""
    columns = min(SLOTS, width - LABEL - 2)
    drawn = [(chart, values) for chart in charts if any(values := until(chart.samples, now, columns))]
    if not drawn or columns < LEAST_COLUMNS:
        return []
    slot_s = drawn[0][0].samples.slot_s
    first = next(n for n in range(columns) if any(values[n] is not None for _, values in drawn))
    rows: list[Row] = [
        section(say(f"Last {text.duration((columns - first) * slot_s)}"), width, say(f"one column = {slot_s:.0f} s"))
    ]
    for place, (chart, values) in enumerate(drawn):
        rows += [BLANK] if place else []
        last = next((value for value in reversed(values) if value is not None), None)
        high, low = text.chart(values[first:], CHART_LINES, max(chart.full, *(value or 0.0 for value in values)))
        rows += [(align(chart.label, LABEL, "muted"), (" ", ""), (high, "data"))]
        shown = "" if last is None else chart.shown(last)
        rows += [(align(shown, LABEL, f"{role} bold" if role else "ink", right=True), (" ", ""), (low, "data"))]
    return [cut(row, width) for row in (*rows, _axis(columns - first, slot_s, silent_s))]


def _axis(columns: int, slot_s: float, silent_s: float | None) -> Row:
    """The time axis: its start, the beginning of the silence, and now."""
    start, end = f"−{text.duration(columns * slot_s)}", "now"
    start = start if columns > len(start) + len(end) else ""
    words = list(f"{start}{end:>{max(0, columns - len(start))}}")
    if silent_s is not None and (mark := f"−{text.duration(text.coarse(silent_s))}") and silent_s < columns * slot_s:
        at = columns - int(silent_s // slot_s) - 1
        if len(start) + 1 < at and at + len(mark) + 1 < columns - len(end):
            words[at : at + len(mark)] = mark
    return ((" " * (LABEL + 1), ""), ("".join(words), "stale"))
