"""A bounded history of one number: means over equal slots of time, and whether it grows, the sign of a leak. Pure."""

from __future__ import annotations

from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

SLOTS = 60
GROUPS = (1, 2, 3, 6, 12)
"""How many slots may share a column of a chart."""
LEAST_SPAN_S = 600.0
LEAST_POINTS = 12
WARM_UP_PART = 0.25
"""This first part of the watch is left out: a run fills memory when it starts, and that is no leak."""
LEAST_FIT = 0.8


class Samples(Struct, frozen=True, omit_defaults=True, array_like=True):
    """`means[i]` is the mean of slot `first + i`, which begins at unix time `(first + i) * slot_s`; `None`: there was no value.

    `open_count`: how many values are in the last mean so far.
    """

    slot_s: float
    first: int = 0
    means: tuple[float | None, ...] = ()
    open_count: int = 0


def add_recent(samples: Samples, at: float, value: float) -> Samples:
    """The samples with `value` in them; slots older than the last `SLOTS` are dropped."""
    slot = int(at // samples.slot_s)
    if not samples.means or slot - (samples.first + len(samples.means)) >= SLOTS:
        return replace(samples, first=slot, means=(value,), open_count=1)
    last = samples.first + len(samples.means) - 1
    if slot <= last:  # a clock that went back a little belongs to the open slot
        mean, count = samples.means[-1], samples.open_count + 1
        grown = value if mean is None else mean + (value - mean) / count
        return replace(samples, means=(*samples.means[:-1], grown), open_count=count)
    means = (*samples.means, *((None,) * (slot - last - 1)), value)
    dropped = max(0, len(means) - SLOTS)
    return replace(samples, first=samples.first + dropped, means=means[dropped:], open_count=1)


def add_whole(samples: Samples, at: float, value: float) -> Samples:
    """The samples with `value` in them; when `SLOTS` are full, slots are joined in pairs, so that the start is never lost."""
    while samples.means and int(at // samples.slot_s) - samples.first >= SLOTS:
        samples = _coarser(samples)
    return add_recent(samples, at, value)


def _coarser(samples: Samples) -> Samples:
    lead = (None,) if samples.first % 2 else ()
    means = (*lead, *samples.means)
    pairs = zip_longest(means[::2], means[1::2])
    return Samples(
        slot_s=samples.slot_s * 2,
        first=samples.first // 2,
        means=tuple(_mean(pair) for pair in pairs),
        open_count=samples.open_count + 1,
    )


def _mean(pair: tuple[float | None, ...]) -> float | None:
    known = [value for value in pair if value is not None]
    return sum(known) / len(known) if known else None


def points(samples: Samples) -> tuple[tuple[float, float], ...]:
    """(unix time of the middle of the slot, mean) of each slot with a value."""
    known = ((samples.first + i, mean) for i, mean in enumerate(samples.means) if mean is not None)
    return tuple(((slot + 0.5) * samples.slot_s, mean) for slot, mean in known)


def over(samples: Samples, columns: int) -> tuple[float | None, ...]:
    """The closed slots as at most `columns` means of equally many slots. Groups are fixed in time, so a chart moves by whole
    columns."""
    closed = samples.means[:-1]
    for group in GROUPS:
        groups: dict[int, list[float | None]] = {}
        for place, mean in enumerate(closed, start=samples.first):
            groups.setdefault(place // group, []).append(mean)
        if len(groups) <= columns:
            break
    return tuple(_mean(tuple(group)) for group in groups.values())[-columns:]


def until(samples: Samples, now: float, slots: int) -> tuple[float | None, ...]:
    """The last `slots` slots up to that of `now`, which may be open; `None` for a slot without a value."""
    last = int(now // samples.slot_s)
    places = range(last - slots + 1 - samples.first, last + 1 - samples.first)
    return tuple(samples.means[place] if 0 <= place < len(samples.means) else None for place in places)


def growth(samples: Samples, least: float) -> float | None:
    """The growth per hour by least squares, if the samples grow steadily by more than `least` in all; `None` if they are too few,
    level or falling, or jump once.

    The line must fit: a single jump in the middle has an r² of 0.75.
    """
    if len(samples.means) < LEAST_POINTS or (samples.means[-1] or 0.0) <= (samples.means[0] or 0.0):
        return None
    known = points(samples)
    known = known[int(len(known) * WARM_UP_PART) :]
    span_s = known[-1][0] - known[0][0] if known else 0.0
    if len(known) < LEAST_POINTS or span_s < LEAST_SPAN_S:
        return None
    slope, fit = _line(known)
    return slope * 3600 if slope * span_s > least and fit >= LEAST_FIT else None


def _line(known: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    """Slope and r² by least squares."""
    mean_at = sum(at for at, _ in known) / len(known)
    mean = sum(value for _, value in known) / len(known)
    across = sum((at - mean_at) * (value - mean) for at, value in known)
    along = sum((at - mean_at) ** 2 for at, _ in known)
    around = sum((value - mean) ** 2 for _, value in known)
    return (across / along, across**2 / (along * around)) if along and around else (0.0, 0.0)
