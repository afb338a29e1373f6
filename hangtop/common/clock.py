"""The time of one hangtop process: unix seconds that never jump.

The pure core takes `now` as an argument; the processes around it take it from here. It is the wall clock at the start of the
process plus the monotonic time since, so neither NTP nor a suspended laptop makes a silence negative. What runs for weeks sets it
again after such a jump, and begins its watch anew.
"""

from __future__ import annotations

import time
from datetime import date

_ANCHOR = time.time() - time.monotonic()
_FIRST_DAY = date(1970, 1, 1).toordinal()


def now() -> float:
    """Unix time in seconds, monotonic within this process."""
    return _ANCHOR + time.monotonic()


def set_again() -> None:
    """Take over the wall clock of this moment. Times from before are of another count."""
    global _ANCHOR
    _ANCHOR = time.time() - time.monotonic()


def unix_s(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    """Unix time of a date and time of day in UTC; a day or an hour too many counts into the next. `calendar.timegm` says the same
    and loads the locales for it. Raises `ValueError` for a month that is none."""
    days = date(year, month, 1).toordinal() - _FIRST_DAY + day - 1
    return ((days * 24 + hour) * 60 + minute) * 60 + second


def until_next(period_s: float, *, at_s: float = 0.0, least_s: float = 0.0) -> float:
    """Seconds until the next whole multiple of the period (plus `at_s`), at least `least_s`.

    Threads that wake together find warm caches and share a wake-up of the core: eight threads that do a little each second cost a
    third less than eight that wake at different times.
    """
    pause_s = (at_s - time.monotonic()) % period_s
    return pause_s if pause_s >= least_s else pause_s + period_s
