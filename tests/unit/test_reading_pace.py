"""How often the log source tells what is new."""

from __future__ import annotations

from itertools import pairwise

from hangtop.probe.log.reading_pace import GAP_S, MOST_GAP_S, SAVED_S, SHARE, ReadingPace


def readings(pace: ReadingPace, start: float, seconds: float, cost_s: float) -> list[float]:
    """The moments at which a reading is made, where there is always something new, and a look every hundredth of a second."""
    made = []
    for look in range(int(seconds * 100)):
        now = start + look / 100
        if pace.allows(now):
            pace.spend(now, cost_s)
            made.append(now)
    return made


def test_cheap_readings_come_as_often_as_the_screen_can_use_them() -> None:
    made = readings(ReadingPace(), 1000.0, 10.0, 0.001)
    assert len(made) >= 0.9 * 10.0 / GAP_S - 1
    assert all(later - earlier >= GAP_S - 1e-6 for earlier, later in pairwise(made))


def test_costly_readings_take_no_more_than_their_share_in_the_long_run() -> None:
    made = readings(ReadingPace(), 1000.0, 100.0, 0.02)
    assert len(made) * 0.02 <= SAVED_S + SHARE * 100.0 + 0.02


def test_a_reading_that_costs_seconds_is_followed_by_the_next_all_the_same() -> None:
    made = readings(ReadingPace(), 1000.0, 20.0, 5.0)
    assert all(later - earlier <= MOST_GAP_S + 0.02 for earlier, later in pairwise(made))
    assert len(made) >= 9


def test_after_a_pause_the_parts_of_a_step_are_told_one_soon_after_the_other() -> None:
    pace = ReadingPace()
    readings(pace, 1000.0, 20.0, 0.1)
    made = readings(pace, 1030.0, 0.5, 0.1)
    assert made[0] == 1030.0
    assert len(made) >= 3


def test_a_clock_that_is_set_back_holds_no_reading_up() -> None:
    pace = ReadingPace()
    pace.spend(2000.0, 0.01)
    assert not pace.allows(1000.0)
    assert pace.allows(1000.0 + 2 * GAP_S)
