"""Dates without a year in a log of a run that goes on over New Year."""

from __future__ import annotations

from datetime import UTC, datetime

from hangtop.logs.catalog.load import load
from hangtop.logs.digest import Digest
from hangtop.logs.lines.timestamps import LogClock, date_in

WRITTEN_BY = datetime(2026, 1, 2, tzinfo=UTC).timestamp()


def told(clock: LogClock, *stamps: str) -> list[str]:
    moments = [clock.read(stamp) for stamp in stamps]
    return [f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at in moments if at is not None]


def test_the_first_date_is_not_later_than_the_file_and_each_is_nearest_to_the_one_before() -> None:
    clock = LogClock(written_by=WRITTEN_BY)
    assert told(clock, "12-31 23:59:59", "01-01 00:00:01", "12-31 23:59:58", "1231 23:59:59.5", "01/02 10:00:00") == [
        "2025-12-31", "2026-01-01", "2025-12-31", "2025-12-31", "2026-01-02"
    ]  # fmt: skip


def test_a_full_date_says_the_year_of_those_beside_it() -> None:
    clock = LogClock()
    assert told(clock, "2025-12-31 23:59:59", "01-01 00:00:01", "2026-01-01 00:00:02", "12-31 23:59:59") == [
        "2025-12-31", "2026-01-01", "2026-01-01", "2025-12-31"
    ]  # fmt: skip


def test_a_year_that_is_found_later_is_that_of_the_dates_behind_it() -> None:
    clock = LogClock()
    assert told(clock, "03-21 10:00:00") == ["2024-03-21"], "no year is known yet"
    clock.look_for_year(b"begun at 2026-03-20 09:00:00\n")
    assert told(clock, "03-21 10:00:01", "03-22 10:00:01") == ["2026-03-21", "2026-03-22"]


def test_a_full_date_at_the_head_of_a_file_that_was_copied_years_later_says_the_year() -> None:
    head, copied = b"begun at 2025-12-31 23:50:00\n", datetime(2029, 6, 1, tzinfo=UTC).timestamp()
    clock = LogClock(near=date_in(head), written_by=copied)
    assert told(clock, "01-01 00:00:01", "12-31 23:59:59", "12-31 10:00:00") == ["2026-01-01", "2025-12-31", "2025-12-31"]
    assert told(LogClock(written_by=copied), "06-01 10:00:00", "06-03 10:00:00") == ["2029-06-01", "2029-06-03"]
    assert told(LogClock(written_by=copied), "06-03 10:00:00") == ["2028-06-03"], "a file holds no line of a later day"


def test_the_silence_over_new_year_is_short() -> None:
    digest = Digest(load(), 0, clock_shift_s=0.0, written_by=WRITTEN_BY)
    digest.feed(b"INFO 12-31 23:59:50 [a.py:1] step 1\nINFO 01-01 00:00:20 [a.py:1] step 2\n")
    digest.facts()
    assert digest.clock.longest_silence_s == 30.0
    assert [line.at for line in digest.tail(2)] == [
        datetime(2026, 1, 1, tzinfo=UTC).timestamp() + shift for shift in (-10.0, 20.0)
    ]
