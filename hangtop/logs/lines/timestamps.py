"""The times in a log, as seconds. Naive: read as if they were UTC; `LogClock` knows the shift to unix time."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import lru_cache

from hangtop.common.clock import unix_s
from hangtop.common.late_pattern import late_pattern
from hangtop.records.log import WrittenAt

_DAY_S = 86_400.0
_LEAP_YEAR = 2024  # any date exists in it

STAMP = (
    r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?"
    r"|\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"|\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"|\d\d[-/]\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"|\d{8}-\d\d:\d\d:\d\d(?:[.,]\d+)?"
)
"""A date with a clock time, without groups, for use inside a prefix."""

_DATED = late_pattern(
    r"(?:(?P<y>\d{4})[-/](?P<m>\d\d)[-/](?P<d>\d\d)|(?P<m2>\d\d)/(?P<d2>\d\d)/(?P<y2>\d{4})|(?P<m3>\d\d)[-/](?P<d3>\d\d)"
    r"|(?P<y5>20\d\d)(?P<m5>\d\d)(?P<d5>\d\d)|(?P<mmdd>\d{3,4})|(?P<mon>[A-Z][a-z]{2})\s+(?P<d4>\d{1,2}))"
    r"[T _-](?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)(?P<frac>[.,]\d+)?(?:Z| ?(?P<sign>[+-])(?P<oh>\d\d):?(?P<om>\d\d))?$"
)
_FULL_DATE = late_pattern(rb"\b(20\d\d)[-/](0[1-9]|1[0-2])[-/](0[1-9]|[12]\d|3[01])[T _]\d\d:\d\d")
_FRACTION = late_pattern(r":\d\d[.,](\d+)")
_MONTHS = {name: number for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}


_day_s = lru_cache(maxsize=64)(unix_s)


def _month_and_day(found: re.Match[str]) -> tuple[int, int]:
    """glog's C++ form writes the month without its zero: `117` is January 17; only `1131` and the like need two digits."""
    if mmdd := found["mmdd"]:
        return int(mmdd[:-2]), int(mmdd[-2:])
    if mon := found["mon"]:
        return _MONTHS.get(mon, 0), int(found["d4"])
    month, day = ("".join(found[name] or "" for name in names) for names in (("m", "m2", "m3", "m5"), ("d", "d2", "d3", "d5")))
    return int(month), int(day)


def date_in(start: bytes) -> float | None:
    """The first full date in the start of a log: when its day began, as if it were UTC."""
    found = _FULL_DATE.search(start)
    return float(_day_s(*map(int, found.groups()))) if found else None


def seconds(text: str) -> float | None:
    """Seconds of a duration as bars write it: `05:06`, `1:22:33`, `2 days, 01:02:03`, `12.5s`; `None` for `?` and others."""
    days, _, clock = text.rpartition(" day")
    total = float(days) * _DAY_S if days.isdigit() else 0.0
    clock = clock.lstrip("s, ")
    try:
        parts = [float(part) for part in clock.rstrip("s").split(":")]
    except ValueError:
        return None
    for part, unit in zip(reversed(parts), (1.0, 60.0, 3600.0, _DAY_S), strict=False):
        total += part * unit
    return total


def _resolution_s(text: str) -> float:
    """The resolution of a stamp: one second, or less if it has digits of a second."""
    found = _FRACTION.search(text)
    return 10.0 ** -len(found[1]) if found else 1.0


@lru_cache(maxsize=64)
def _iso(text: str) -> float | None:
    """The seconds of `2026-03-01 12:00:07.25`; `None` for a zone behind the fraction, and what is no date.
    A thousand ranks write in the same second."""
    try:
        day = _day_s(int(text[:4]), int(text[5:7]), int(text[8:10]))
        fraction = float("0." + text[20:].rstrip("Z")) if text[20:] else 0.0
        return day + int(text[11:13]) * 3600 + int(text[14:16]) * 60 + int(text[17:19]) + fraction
    except ValueError:
        return None


TAIL_S = 7_200.0
"""No inhabited zone is nearer to UTC, west of it: a longer time may be a zone."""
_ZONE_S, _ZONE_ERROR_S = 1_800.0, 5.0
"""Zones differ by half hours (but for Nepal and two small islands), clocks of one cluster by far less than this error."""


def without_tail(shift_s: float, local_s: float) -> float:
    """By how much the clock of a log is off, where lines without a time stand behind its newest one that tells it: bars, an
    engine's output. `shift_s`: how much later the file was written than that line says; `local_s`: how far the zone of this
    machine is from UTC. Where the clock is that of this machine, or UTC, the rest is the time until the last line was written;
    of another zone nobody knows."""
    tails = [(shift_s - zone_s, zone_s) for zone_s in (0.0, -local_s) if -_ZONE_ERROR_S <= shift_s - zone_s <= TAIL_S]
    return min(tails)[1] if tails else shift_s


def one_clock(shifts_s: Sequence[float]) -> list[float]:
    """What to add to the times in each of several logs of one run to get unix time. `shifts_s`: how much later each file was
    written than its newest line says.

    A shift is the sum of the zone of the writer, the error of its clock, and the time until the file was last written: by lines
    without a time, or by a copy made without its times (`cp` without `-p`, `rsync` without `-t`). The last part is not negative,
    so the least shift is nearest the truth, and the times in the logs tell the order of their lines. A difference of whole half
    hours is another zone. A clock that is wrong by minutes looks like a file that was written later; in a live log it does no
    harm, since bytes that come while hangtop watches have the time of their arrival.
    """
    least = min(shifts_s, default=0.0)
    zones = [round((shift - least) / _ZONE_S) * _ZONE_S for shift in shifts_s]
    return [
        least + zone if abs(shift - least - zone) <= _ZONE_ERROR_S else least for shift, zone in zip(shifts_s, zones, strict=True)
    ]


class LogClock:
    """When lines were written, in unix time: by the time in the line and `shift_s`, or by the arrival of the bytes in a live log.

    If both disagree (the clock jumped, or the line is old) the arrival counts. A date without a year gets the year that puts it
    nearest to the date before it, the first one to the first full date of the file; without one it is not later than the file was
    written. `zoned`: the latest time told its zone. `last_log_time`: that of the newest line that has one, as it stands there, as
    if it were UTC.
    """

    YEAR_WITHIN = 64 << 10
    BELIEVED_S = 5.0
    LONGEST_SILENCE_S = 7 * 86_400.0  # more is a clock that was set, not a silence

    def __init__(self, shift_s: float | None = None, near: float | None = None, written_by: float | None = None) -> None:
        """`near`: the first full date of the file, of `date_in`. `written_by`: when the last byte that the file held when hangtop
        came was written, the time of the file."""
        self._year_known = near is not None or written_by is not None
        self.zoned = False
        self._shift_s = shift_s or 0.0
        self.written_by = written_by
        self._since: float | None = None
        self._arrival: float | None = None
        self._last_arrival: float | None = None
        self._looked = 0
        self.last_log_time: float | None = None
        self._read_last = near  # the latest time that was read, in the order of the file
        self.longest_silence_s: float | None = None

    def read(self, text: str) -> float | None:
        """Seconds of a stamp (`STAMP`, or glog's `321 02:07:08.4`); `None` if it is no date. A zone is subtracted."""
        self.zoned = text[-1:] == "Z"
        if text[4:5] == "-" and text[19:20] in ("", ".", ","):  # the form of most logs, without the regex
            dated = _iso(text)
            if dated is not None:
                self._year_known, self._read_last = True, dated
                return dated
        stamp_or_none = self._any(text)
        self._read_last = stamp_or_none if stamp_or_none is not None else self._read_last
        return stamp_or_none

    def _any(self, text: str) -> float | None:
        found = _DATED.match(text)
        if found is None:
            return None
        year = found["y"] or found["y2"] or found["y5"]
        self._year_known |= bool(year)
        month, day = _month_and_day(found)
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return None
        clock = int(found["H"]) * 3600 + int(found["M"]) * 60 + int(found["S"])
        date = _day_s(int(year), month, day) if year else self._day_of_some_year(month, day)
        zone = 0
        if found["sign"]:
            zone = (int(found["oh"]) * 3600 + int(found["om"]) * 60) * (1 if found["sign"] == "+" else -1)
            self.zoned = True
        fraction = float("0." + found["frac"][1:]) if found["frac"] else 0.0
        return date + clock + fraction - zone

    def _day_of_some_year(self, month: int, day: int) -> int:
        """When a day began of which no year is told: a run goes on over New Year."""
        if (last := self._read_last) is not None:
            year = time.gmtime(last).tm_year
            days = [_day_s(each, month, day) for each in (year, year - 1, year + 1)]
            return min(days, key=lambda each: abs(each - last))
        if self.written_by is None:
            return _day_s(_LEAP_YEAR, month, day)
        latest = self.written_by - self._shift_s + _DAY_S
        year = time.gmtime(latest).tm_year
        return _day_s(year - (_day_s(year, month, day) > latest), month, day)

    def look_for_year(self, data: bytes) -> None:
        """Looks for a year at the start of the file, for stamps without one before the first that has it."""
        if not self._year_known and self._looked < self.YEAR_WITHIN:
            self._looked += len(data)
            if (near := date_in(data[: self.YEAR_WITHIN])) is not None:
                self._year_known, self._read_last = True, near  # what was read before was of no year

    def arrived(self, at: float | None, since: float | None = None) -> None:
        """The bytes that follow arrived at unix time `at`, and were not there at `since`; `None`: they are history."""
        if at is not None and self._last_arrival is not None:
            self.silence(at - self._last_arrival)
        self._arrival, self._since = at, since
        self._last_arrival = at if at is not None else self._last_arrival

    def at(self, stamp: float | None) -> float | None:
        """Unix time of a line with this stamp."""
        told = None if stamp is None else stamp + self._shift_s
        if self._arrival is None or (told is not None and abs(told - self._arrival) < self.BELIEVED_S):
            return told
        return self._arrival

    def written(self, stamp: float | None, text: str = "") -> WrittenAt:
        """When a line with this stamp was written. `text`: the stamp as written, which tells its resolution."""
        at = self.at(stamp)
        if at is None:
            return WrittenAt(None, None, self.written_by)
        if stamp is None or at != stamp + self._shift_s:
            return WrittenAt(at, self._since, at)
        return WrittenAt(at, at, at + _resolution_s(text))

    def silence(self, gap_s: float) -> None:
        """Takes in a silence of `gap_s`; a clock that jumped is none."""
        if 0 < gap_s < self.LONGEST_SILENCE_S:
            self.longest_silence_s = max(self.longest_silence_s or 0.0, gap_s)
