"""Who lagged when: how long after its peers each rank came to a step, over the whole run, thinned for a screen."""

from __future__ import annotations

from hangtop.query.database import Database
from hangtop.query.requests import Course, Point

POINTS = 400
"""Of each rank."""
MOST_RANKS = 32
"""Those that were late longest."""

_LATE = """
WITH told AS (
  SELECT rank, step, min(time_s) AS at_s FROM steps
  WHERE run = {run} AND rank IS NOT NULL AND step IS NOT NULL AND time_s IS NOT NULL GROUP BY rank, step
), beside AS (
  SELECT step, median(at_s) AS usual, count(*) AS ranks FROM told GROUP BY step HAVING count(*) > 1
), ended AS (
  SELECT greatest((SELECT max(at_s) FROM told), (SELECT max(time_s) FROM ranks WHERE run = {run})) AS at_s
), late AS (
  SELECT told.rank, told.at_s, step, greatest(told.at_s - usual, 0) AS late_s FROM told JOIN beside USING (step)
  UNION ALL
  SELECT last.rank, usual, beside.step, ended.at_s - usual
  FROM beside, ended, (SELECT rank, max(step) AS step FROM told GROUP BY rank) AS last
  WHERE beside.step > last.step AND 2 * beside.ranks > (SELECT count(DISTINCT rank) FROM told)
), slots AS (
  SELECT *, (row_number() OVER each - 1) * {points} // greatest(count(*) OVER (PARTITION BY rank), {points}) AS slot FROM late
  WINDOW each AS (PARTITION BY rank ORDER BY at_s, step)
), worst AS (SELECT rank FROM late GROUP BY rank ORDER BY sum(late_s) DESC, rank LIMIT {most})
SELECT rank, min(at_s), min(step), avg(late_s), min(late_s), max(late_s) FROM slots
WHERE rank IN (SELECT rank FROM worst) GROUP BY rank, slot ORDER BY rank, slot
"""
"""A step that most ranks have told and one has not: it is late until the end."""


def lateness(database: Database, run: str) -> tuple[Course, ...]:
    """Seconds behind the middle of its peers, of each rank, in the order of ranks. Raises `QueryError`."""
    told: dict[int, list[Point]] = {}
    for rank, at, step, *late in database.select(_LATE.format(run=run, points=POINTS, most=MOST_RANKS))[1]:
        mean, low, high = map(float, late)
        told.setdefault(int(rank), []).append((float(at), int(step), mean, low, high))
    return tuple(Course(f"rank {rank}", tuple(points), from_zero=True) for rank, points in told.items())
