"""Times of a log that tell no year, or no date at all: the order of the lines tells it, and when the file was written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal

from msgspec import Struct

Lacks = Literal["", "year", "date"]
"""What of a full date a time in a log does not tell."""
HALF_A_DAY_S = 43_200.0
HALF_A_YEAR_S = 182 * 86_400.0
LATE_S = 600.0
"""The clock of who wrote the lines may be ahead of the file's by so much."""
LEAP_YEAR = 2024
"""In which a date without a year is put: any exists in it."""

CLOCK = r"[0-2]\d:[0-5]\d:[0-5]\d(?:[.,]\d+)?"
"""A time of day. It counts where a launcher or a logger writes it: first, or behind a bracket; not in a bar."""
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
LEVELS = ("DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL")
YEARLESS = (
    rf"(?:(?:0\d|1[0-2])[-/][0-3]\d|(?:0\d|1[0-2])[0-3]\d|(?:{'|'.join(MONTHS)}) [ \d]\d)"
    r" [0-2]\d:[0-5]\d:[0-5]\d(?:[.,]\d{1,6})?"
)
"""A date without its year, as loggers write it: `01-11 10:05:51`, `Jan 11 …`, and glog's `0111 …`. It counts where a time of day
does, and behind a level."""
YEARLESS_FORMATS = ("%m-%d", "%m/%d", "%m%d", "%b %d")
"""The same for `strptime`."""


def days_of(clocks_s: Sequence[float], written_at: float, shift_s: float) -> list[float]:
    """For times of day in the order of the file the unix time at which the day of each began. A day is over where the time falls
    by more than half of one; the last was not later than the file was written. `shift_s`: unix time minus the clock's."""
    day, numbers = 0, []
    for before, now in zip((None, *clocks_s), clocks_s, strict=False):
        day += before is not None and now < before - HALF_A_DAY_S
        numbers.append(day)
    if not numbers:
        return []
    last = last_day_s(clocks_s[-1], written_at, shift_s)
    return [last + (number - day) * 2 * HALF_A_DAY_S for number in numbers]


def last_day_s(clock_s: float, written_at: float, shift_s: float) -> float:
    """The unix time at which the day began whose `clock_s` is the last that a file tells, which was written at `written_at`."""
    midnight = (written_at - shift_s) // (2 * HALF_A_DAY_S) * 2 * HALF_A_DAY_S + shift_s
    return midnight if midnight + clock_s <= written_at + LATE_S else midnight - 2 * HALF_A_DAY_S


class Anchor(Struct, frozen=True):
    """What tells of which time the lines of a file are. `near`: its first full date, if any, as its own clock tells it.
    `written_at`: unix time of the file. `shift_s`: unix time minus the clock's."""

    near: float | None
    written_at: float
    shift_s: float


def moments_of(leap_s: Sequence[float], anchor: Anchor) -> list[float]:
    """For dates without a year, each put in `LEAP_YEAR`, in the order of the file, their unix times. A year is over where a date
    falls by more than half of one (and a late line of the old one rises so)."""
    year, years = 0, [0] if leap_s else []
    for before, now in pairwise(leap_s):
        year += (now < before - HALF_A_YEAR_S) - (now > before + HALF_A_YEAR_S)
        years.append(year)
    if not years:
        return []
    first = first_year(leap_s[0], leap_s[-1], year, anchor)
    return [in_year(at_s, first + number) + anchor.shift_s for at_s, number in zip(leap_s, years, strict=True)]


def first_year(first_s: float, last_s: float, years: int, anchor: Anchor) -> int:
    """The year of the first date of a file; its last one is so many `years` later. The first is the nearest to the full date in
    the file; without one the last is not later than the file was written."""
    if anchor.near is not None:
        near = anchor.near
        year = datetime.fromtimestamp(near, UTC).year
        return min((year, year - 1, year + 1), key=lambda each: abs(in_year(first_s, each) - near))
    latest = anchor.written_at - anchor.shift_s + LATE_S
    year = datetime.fromtimestamp(latest, UTC).year
    return year - (in_year(last_s, year) > latest) - years


def in_year(leap_s: float, year: int) -> float:
    """The same date and time in another year; February 29 is March 1 where there is none."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=leap_s)
    try:
        return at.replace(year=year).timestamp()
    except ValueError:
        return (at + timedelta(days=1)).replace(year=year).timestamp()


def clock_seconds(text: str) -> float:
    """Seconds of the day of `10:05:51,250`."""
    hours, minutes, seconds = text.replace(",", ".").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def leap_seconds(text: str) -> float | None:
    """Seconds of `01-11 10:05:51,250` in `LEAP_YEAR`, as if it were UTC; `None` where it is no date."""
    date, clock = text[: -len(text.split()[-1])].rstrip(), text.split()[-1]
    for form in YEARLESS_FORMATS:
        try:
            at = datetime.strptime(f"{LEAP_YEAR} {date}", f"%Y {form}").replace(tzinfo=UTC)
        except ValueError:
            continue
        return at.timestamp() + clock_seconds(clock)
    return None
