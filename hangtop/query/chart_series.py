"""What of an answer is drawn: two of its columns, and the series that other columns tell apart. Pure."""

from __future__ import annotations

from hangtop.query.requests import MOST_SERIES, Shown

NUMBERED = ("rank", "gpu")

Series = tuple[tuple[str, tuple[tuple[float, float], ...]], ...]
"""The points of a chart by the words that tell each series from the others."""


def chart_columns(shown: Shown, nth: int) -> tuple[int, int] | None:
    """The columns for a chart: the first of the numbers, and the one that is `nth` after it; `None` if there is none. What tells
    series apart is none of them."""
    apart = _apart(shown)
    counts = [any(row[place] is not None for row in shown.points) for place in range(len(shown.names))]
    numbers = [place for place, has in enumerate(counts) if has and place not in apart and place not in shown.words]
    return (numbers[0], numbers[nth + 1]) if 0 <= nth < len(numbers) - 1 else None


def chart_series(shown: Shown, x: int, y: int) -> Series:
    """The points of these columns, series by series."""
    found: dict[tuple[float | None, ...], list[tuple[float, float]]] = {}
    apart = _apart(shown)
    for row in shown.points:
        first, second = row[x], row[y]
        if first is not None and second is not None:
            found.setdefault(tuple(row[nth] for nth in apart), []).append((first, second))
    named = (
        (" ".join(_word(shown, *each) for each in zip(apart, key, strict=True)), tuple(points)) for key, points in found.items()
    )
    return tuple(named)[:MOST_SERIES]


def _apart(shown: Shown) -> tuple[int, ...]:
    """The columns that tell several series apart: few different texts, or numbers of ranks or GPUs."""
    found = [*shown.words, *(nth for nth, name in enumerate(shown.names) if name in NUMBERED and nth not in shown.words)]
    kinds = {nth: len({row[nth] for row in shown.points}) for nth in found}
    return tuple(nth for nth, count in kinds.items() if 1 < count <= MOST_SERIES and nth != _first_axis(shown))


def _first_axis(shown: Shown) -> int | None:
    """Where only two columns are numbers, the first is the axis, whatever it is called."""
    numbers = [nth for nth, right in enumerate(shown.right) if right or nth in shown.moments]
    return numbers[0] if len(numbers) < 3 and numbers else None


def _word(shown: Shown, column: int, value: float | None) -> str:
    if value is None:
        return "?"
    words = shown.words.get(column)
    return words[int(value)] if words is not None else f"{shown.names[column]} {value:g}"
