"""Where a bad run left a good one: numbers of both, told apart from noise by the good run's own spread. Pure.

A level (time of a step, power of a GPU) is compared with the medians of the good run's own pieces: what these differ among
themselves is its noise. A course (loss over steps) is compared step by step, and differs where it does so for several pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from statistics import fmean, median
from typing import TypeVar

from msgspec import Struct

PIECES = 20
"""Into so many pieces a course is cut; a difference lasts for `LASTS` of them, or to the end."""
LASTS = 2
LEAST_PIECE = 3
"""Values in a piece; a shorter course has fewer pieces."""
LEAST_PART = 0.10
"""Differences below a tenth are no difference of levels: other machines, other days."""
LEAST_COURSE_PART = 0.05
NOISES = 4.0
"""A course differs by more than so many standard deviations of the good run's own steps."""
SIGMA_OF_MAD = 1.4826
"""The standard deviation of a normal distribution, in median absolute deviations."""

Each = TypeVar("Each")
Points = Sequence[tuple[float, float]]
"""Step and value, in the order of steps."""


class Difference(Struct, frozen=True):
    """One. `about`: pace, stage, metric, memory, gpu, finding, frame, command or end. `good`, `bad`: what each run has, as text.
    `step`: from which step on. `weight`: how many times the least difference that counts, to sort by."""

    about: str
    name: str
    good: str
    bad: str
    step: int | None = None
    weight: float = 1.0

    @property
    def line(self) -> str:
        """In one line."""
        where = "" if self.step is None else f" from step {self.step:,} on"
        return f"{self.name}{where}: {self.bad}, good run {self.good}"


def level(about: str, name: str, good: Sequence[float], bad: Sequence[float], unit: str) -> Difference | None:
    """The difference of two levels, each a number of samples in the order of time: of their medians, else of their means, which
    tell of what happens now and then."""
    if len(good) < LEAST_PIECE or len(bad) < LEAST_PIECE:
        return None
    found = (_of_centres(about, name, good, bad, unit, centre) for centre in (median, fmean))
    return next((each for each in found if each is not None), None)


def _of_centres(
    about: str, name: str, good: Sequence[float], bad: Sequence[float], unit: str, centre: Callable[[Sequence[float]], float]
) -> Difference | None:
    of_pieces = [centre(piece) for piece in pieces(good)]
    usual, now = centre(good), centre(bad)
    noise = SIGMA_OF_MAD * median(abs(value - usual) for value in good) / len(good) ** 0.5
    least = max(max(of_pieces) - min(of_pieces), 3 * noise, LEAST_PART * abs(usual))
    far = abs(now - usual)
    if not isfinite(far) or far <= least:
        return None
    return Difference(about, name, told(usual, unit), told(now, unit), weight=far / least if least else far)


def course(name: str, good: Points, bad: Points) -> Difference | None:
    """The difference of two courses, at the steps that both have."""
    there = dict(bad)
    both = [(step, value, there[step]) for step, value in good if step in there and isfinite(value) and isfinite(there[step])]
    if len(both) < LEAST_PIECE * LASTS:
        return None
    noise = _noise([value for _, value, _ in both])
    parts = [piece for piece in pieces(both) if piece]
    differs = [_piece_differs(piece, noise) for piece in parts]
    first = next((nth for nth in range(len(parts)) if all(differs[nth : nth + LASTS]) and len(differs[nth:]) >= LASTS), None)
    if first is None:
        return None
    usual, now = (median(row[column] for row in parts[first]) for column in (1, 2))
    least = max(NOISES * noise, LEAST_COURSE_PART * abs(usual)) or abs(now - usual)
    return Difference(
        "metric", name, told(usual), told(now), step=int(parts[first][0][0]), weight=max(1.0, abs(now - usual) / least)
    )


def _piece_differs(piece: Sequence[tuple[float, float, float]], noise: float) -> bool:
    apart = median(bad - good for _, good, bad in piece)
    usual = median(good for _, good, _ in piece)
    return abs(apart) > max(NOISES * noise, LEAST_COURSE_PART * abs(usual))


def _noise(values: Sequence[float]) -> float:
    """Standard deviation of a value around its course, by the differences of neighbours (von Neumann): a slope does not count."""
    return SIGMA_OF_MAD * median(abs(after - before) for before, after in pairwise(values)) / 2**0.5


def growth(name: str, good: Points, bad: Points) -> Difference | None:
    """The difference in how fast something grows: `(time in s, bytes)`."""
    if len(good) < 2 * LEAST_PIECE or len(bad) < 2 * LEAST_PIECE:
        return None
    (usual, error), (now, other_error) = _slope(good), _slope(bad)
    least = max(3 * (error**2 + other_error**2) ** 0.5, LEAST_PART * abs(usual))
    mib_an_hour = 3600 / 2**20
    if abs(now - usual) <= least or abs(now - usual) * mib_an_hour < 1:
        return None
    good_text, bad_text = (f"{slope * mib_an_hour:+,.1f} MiB/h" for slope in (usual, now))
    return Difference("memory", name, good_text, bad_text, weight=abs(now - usual) / least if least else 1.0)


def _slope(points: Points) -> tuple[float, float]:
    """Slope by least squares, and its standard error."""
    x_mean, y_mean = fmean(x for x, _ in points), fmean(y for _, y in points)
    across = sum((x - x_mean) ** 2 for x, _ in points)
    if not across:
        return 0.0, 0.0
    slope = sum((x - x_mean) * (y - y_mean) for x, y in points) / across
    rest = sum((y - y_mean - slope * (x - x_mean)) ** 2 for x, y in points)
    return slope, (rest / (len(points) - 2) / across) ** 0.5


def shares(about: str, good: Mapping[str, int], bad: Mapping[str, int], least_part: float = 0.2) -> Iterator[Difference]:
    """Whose share of all differs by more than a fifth: frames in which ranks were seen."""
    of_good, of_bad = sum(good.values()), sum(bad.values())
    if of_good < 2 * LEAST_PIECE or of_bad < 2 * LEAST_PIECE:
        return
    for name in good.keys() | bad.keys():
        before, now = good.get(name, 0) / of_good, bad.get(name, 0) / of_bad
        spread = 2 * (before * (1 - before) / of_good + now * (1 - now) / of_bad) ** 0.5
        if abs(now - before) > max(least_part, spread):
            yield Difference(about, name, f"{before:.0%} of the looks", f"{now:.0%}", weight=abs(now - before) / least_part)


def pieces(values: Sequence[Each]) -> Iterator[Sequence[Each]]:
    """The values cut into at most `PIECES` of equal length."""
    count = max(1, min(PIECES, len(values) // LEAST_PIECE))
    for nth in range(count):
        yield values[len(values) * nth // count : len(values) * (nth + 1) // count]


def told(value: float, unit: str = "") -> str:
    """A number with four digits that matter, and its unit."""
    return f"{value:,.4g}{f' {unit}' if unit else ''}"


def by_weight(found: Iterable[Difference | None]) -> list[Difference]:
    """Those that are any, the greatest first."""
    return sorted((each for each in found if each is not None), key=lambda each: -each.weight)
