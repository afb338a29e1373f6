"""Two columns of numbers as a chart of characters, drawn by plotext (in the optional extra `query`)."""

from __future__ import annotations

from itertools import pairwise

from hangtop.common.clean_text import clean_text
from hangtop.common.text import clock
from hangtop.query.database import QueryError
from hangtop.query.requests import ChartAsk

MOST_POINTS = 2_000
TICKS = 5
NO_PLOTEXT = "a chart needs plotext: pip install 'hangtop[query]'"


def chart_lines(ask: ChartAsk) -> list[str]:
    """The lines of the chart. Raises `QueryError` where it cannot be drawn."""
    try:
        import plotext
    except ImportError as error:
        raise QueryError(NO_PLOTEXT) from error
    points = ask.points[:: max(1, len(ask.points) // MOST_POINTS)]
    if len(points) < 2:
        raise QueryError("a chart needs two columns of numbers, and two rows with both")
    xs, ys = [x for x, _ in points], [y for _, y in points]
    plotext.clear_figure()
    plotext.limit_size(False, False)  # of the terminal, which the child has not
    plotext.plot_size(ask.width, ask.height)
    plotext.theme("clear")
    marker = "*" if ask.plain else "braille"
    in_order = all(before <= after for before, after in pairwise(xs))
    (plotext.plot if in_order else plotext.scatter)(xs, ys, marker=marker)
    plotext.xlabel(ask.names[0])
    plotext.ylabel(ask.names[1])
    if ask.time:
        ticks = [min(xs) + (max(xs) - min(xs)) * nth / (TICKS - 1) for nth in range(TICKS)]
        plotext.xticks(ticks, [clock(at) for at in ticks])
    return [clean_text(line).rstrip() for line in plotext.uncolorize(plotext.build()).splitlines()]
