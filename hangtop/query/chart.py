"""Two columns of numbers as a chart of characters, drawn by plotext (in the optional extra `query`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hangtop.common.clean_text import clean_text
from hangtop.common.text import clock
from hangtop.query.chart_series import chart_columns, chart_series
from hangtop.query.database import QueryError
from hangtop.query.requests import ChartAsk, Shown

MOST_POINTS = 2_000
SIGNS = "●▲■○✓▸◂"
PLAIN_SIGNS = "*^#o+><"
"""Of several series; a line of braille cannot be told from another without colours."""
PLAIN_AXES = str.maketrans("┌┐└┘─│┤├┬┴", "++++-|++++")
TICKS = 5
NO_PLOTEXT = "a chart needs plotext: pip install 'hangtop[query]'"


def all_charts(shown: Shown, width: int, height: int, *, plain: bool) -> Iterator[str]:
    """A chart of so many cells for each further column of numbers over the first one, with a series for each rank, GPU, run or
    name. Raises `QueryError`."""
    pairs = [pair for nth in range(len(shown.names)) if (pair := chart_columns(shown, nth)) is not None]
    if not pairs:
        raise QueryError("a chart needs two columns of numbers, such as SELECT step, value FROM metrics")
    for x, y in pairs:
        names = (shown.names[x], shown.names[y])
        yield from chart_lines(ChartAsk(names, chart_series(shown, x, y), width, height, x in shown.moments, plain))


def chart_lines(ask: ChartAsk) -> list[str]:
    """The lines of the chart. Raises `QueryError` where it cannot be drawn."""
    try:
        import plotext
    except ImportError as error:
        raise QueryError(NO_PLOTEXT) from error
    thin = max(1, sum(len(points) for _, points in ask.series) // MOST_POINTS)
    series = [(name, points[::thin]) for name, points in ask.series if points]
    every = [point for _, points in series for point in points]
    if len(every) < 2:
        raise QueryError("a chart needs two columns of numbers, and two rows with both")
    xs = [x for x, _ in every]
    plotext.clear_figure()
    plotext.limit_size(False, False)  # of the terminal, which the child has not
    plotext.plot_size(ask.width, ask.height)
    plotext.theme("clear")
    for nth, (name, points) in enumerate(series):
        signs = PLAIN_SIGNS if ask.plain else SIGNS
        marker = signs[nth % len(signs)] if len(series) > 1 else "*" if ask.plain else "braille"
        in_order = all(before[0] <= after[0] for before, after in pairwise(points)) and len(series) == 1
        draw = plotext.plot if in_order else plotext.scatter
        draw([x for x, _ in points], [y for _, y in points], marker=marker, label=name if len(series) > 1 else None)
    plotext.xlabel(ask.names[0])
    plotext.ylabel(ask.names[1])
    if ask.time:
        ticks = [min(xs) + (max(xs) - min(xs)) * nth / (TICKS - 1) for nth in range(TICKS)]
        plotext.xticks(ticks, [clock(at) for at in ticks])
    drawn = plotext.uncolorize(plotext.build())
    return [clean_text(line).rstrip() for line in (drawn.translate(PLAIN_AXES) if ask.plain else drawn).splitlines()]
