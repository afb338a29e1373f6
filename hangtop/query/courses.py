"""How numbers of a run went over time, thinned for a screen: what its log tells beside its steps, the pace of these, its GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.query.database import Database, quoted
from hangtop.query.requests import Course, Point

POINTS = 1_500
"""Of each course; more than a screen has columns, so that a person can look closer."""
MOST_METRICS = 12
MOST_GPUS = 16
MOST_RANKS = 16
FIRST = ("loss", "grad_norm", "throughput", "tokens_per_s", "reward", "lr")
"""Metrics that stand first, in this order; then those that are told most often."""

_THINNED = """
SELECT {apart}, min(time_s), min(step), avg(value), min(value), max(value) FROM (
  SELECT *, (row_number() OVER series - 1) * {points} // greatest(count(*) OVER whole, {points}) AS slot FROM ({source})
  WINDOW series AS (PARTITION BY {apart} ORDER BY time_s, step), whole AS (PARTITION BY {apart})
) GROUP BY {apart}, slot ORDER BY {apart}, slot
"""
_METRICS = "SELECT name, time_s, step, value FROM metrics WHERE run = {run} AND value IS NOT NULL AND name IN ({names})"
_NAMES = (
    "SELECT name, count(*) FROM metrics WHERE run = {run} AND value IS NOT NULL GROUP BY name HAVING count(*) > 1 "
    "ORDER BY count(*) DESC, name"
)
_PACE = """
SELECT 's/step' AS name, time_s, step, (time_s - before_s) / (step - step_before) AS value FROM (
  SELECT step, min(time_s) AS time_s, lag(min(time_s)) OVER (ORDER BY step) AS before_s,
         lag(step) OVER (ORDER BY step) AS step_before
  FROM steps WHERE run = {run} AND step IS NOT NULL AND time_s IS NOT NULL GROUP BY step
) WHERE before_s IS NOT NULL AND time_s >= before_s
"""
_GPUS = """
SELECT 'GPU ' || gpu || ' {what}' AS name, time_s, NULL AS step, {column} AS value FROM gpus
WHERE run = {run} AND {column} IS NOT NULL AND gpu < {most}
"""
_OF_RANKS = (
    "SELECT name, count(*) FROM metrics WHERE run = {run} AND value IS NOT NULL AND rank IS NOT NULL GROUP BY name "
    "HAVING count(DISTINCT rank) > 1 ORDER BY count(*) DESC, name"
)
_ONE_METRIC = (
    "SELECT 'rank ' || rank AS name, rank, time_s, step, value FROM metrics "
    "WHERE run = {run} AND name = {name} AND value IS NOT NULL AND rank IS NOT NULL"
)
_ODD_RANKS = """
SELECT rank, avg(abs(value - usual)) AS off
FROM (SELECT rank, value, median(value) OVER (PARTITION BY step) AS usual FROM ({source}))
GROUP BY rank ORDER BY off DESC, rank LIMIT {most}
"""


def courses(database: Database, run: str) -> tuple[Course, ...]:
    """What there is of this run (its name as SQL writes a text), the usual metrics first. Raises `QueryError`."""
    known = [str(name) for name, _ in database.select(_NAMES.format(run=run))[1]]
    names = [name for name in FIRST if name in known]
    names += [name for name in known if name not in names][: max(0, MOST_METRICS - len(names))]
    told = list(_thinned(database, _METRICS.format(run=run, names=", ".join(map(quoted, names))))) if names else []
    told.sort(key=lambda course: names.index(course.name))
    told += _thinned(database, _PACE.format(run=run))
    for what, column in (("power W", "power_w"), ("memory G", "used_bytes / 1073741824.0"), ("util %", "util_percent")):
        told += _thinned(database, _GPUS.format(run=run, what=what, column=column, most=MOST_GPUS), from_zero=True)
    return tuple(told)


def metric_by_rank(database: Database, run: str, place: int) -> str:
    """The metric with this place among those that several ranks tell, the usual ones first; empty behind the last."""
    told = {str(name): int(count) for name, count in database.select(_OF_RANKS.format(run=run))[1]}
    names = [*(name for name in FIRST if name in told), *(name for name in told if name not in FIRST)]
    return names[place - 1] if place <= len(names) else ""


def by_rank(database: Database, run: str, metric: str) -> tuple[Course, ...]:
    """This metric of each rank, those furthest from the middle of all first. Raises `QueryError`."""
    named = _ONE_METRIC.format(run=run, name=quoted(metric))
    ranks = [int(rank) for rank, _ in database.select(_ODD_RANKS.format(source=named, most=MOST_RANKS))[1]]
    told = (
        {course.name: course for course in _thinned(database, f"{named} AND rank IN ({', '.join(map(str, ranks))})")}
        if ranks
        else {}
    )
    return tuple(told[name] for rank in ranks if (name := f"rank {rank}") in told)


def _thinned(database: Database, source: str, *, from_zero: bool = False) -> Iterator[Course]:
    sql = _THINNED.format(apart="name", points=POINTS, source=source)
    points: dict[str, list[Point]] = {}
    for name, time_s, number, *values in database.select(sql)[1]:
        at, step = None if time_s is None else float(time_s), None if number is None else int(number)
        mean, low, high = map(float, values)
        points.setdefault(str(name), []).append((at, step, mean, low, high))
    yield from (Course(name, tuple(told), from_zero) for name, told in points.items() if len(told) > 1)
