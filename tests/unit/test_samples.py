"""A chart over what is kept: few columns, each of as much time as the others."""

from __future__ import annotations

from hangtop.records.samples import Samples, add_recent, over, until


def after(slots: int, first: int = 0) -> Samples:
    samples = Samples(slot_s=10.0)
    for slot in range(first, first + slots):
        samples = add_recent(samples, slot * 10.0 + 5, float(slot))
    return samples


def test_each_slot_has_a_column_while_there_is_room_and_the_open_one_has_none() -> None:
    assert over(after(5), 10) == (0, 1, 2, 3)


def test_slots_share_a_column_when_they_are_more_than_columns() -> None:
    assert over(after(13), 6) == (0.5, 2.5, 4.5, 6.5, 8.5, 10.5)


def test_a_column_keeps_its_stretch_of_time_when_old_slots_are_dropped() -> None:
    before, later = over(after(60), 10), over(after(66), 10)
    assert len(before) == len(later) == 10
    assert later[:8] == before[1:9]


def test_a_gap_stays_a_gap() -> None:
    samples = add_recent(after(2), 95.0, 9.0)
    assert over(samples, 10)[:4] == (0, 1, None, None)


def test_the_last_slots_stand_on_the_clock_and_not_on_the_readings() -> None:
    assert until(after(3), 45.0, 6) == (None, 0, 1, 2, None, None)
