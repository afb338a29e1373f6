"""A level that changed for good, and noise that did not."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from hangtop.common.level_shift import shift_of
from hangtop.common.whole_history import EVEN, NEWEST, WholeHistory


@pytest.mark.parametrize(("before", "since"), [(40, 20), (8, 60), (70, 6), (30, 30)])
def test_a_change_is_found_at_its_place(before: int, since: int) -> None:
    dice = random.Random(before)
    values = [10 + dice.random() for _ in range(before)] + [20 + 2 * dice.random() for _ in range(since)]
    shift = shift_of(values)
    assert shift is not None
    assert (shift.at, int(shift.before), int(shift.now)) in [(before, 10, 20), (before, 10, 21)]


def test_noise_has_no_level() -> None:
    dice = random.Random(7)
    series = [[dice.lognormvariate(0, 0.3) for _ in range(60)] for _ in range(200)]
    assert [shift_of(values) for values in series if shift_of(values)] == []


def test_pauses_that_come_again_are_no_change() -> None:
    assert shift_of([10.0 if place % 10 else 60.0 for place in range(80)]) is None


def test_what_went_by_is_no_change() -> None:
    assert shift_of([10.0] * 30 + [50.0] * 20 + [10.0] * 20) is None
    assert shift_of([10.0] * 30 + [50.0] * 4) is None  # too young


def test_a_first_slow_step_is_no_level() -> None:
    assert shift_of([300.0, 40.0, *[10.0] * 40]) is None


def test_a_history_keeps_the_beginning_and_the_newest() -> None:
    history: WholeHistory[int] = WholeHistory()
    for place in range(10_000):
        history.add(place, place)
    kept = history.items()
    assert kept[0] == 0
    assert kept[-NEWEST:] == tuple(range(10_000 - NEWEST, 10_000))
    assert len(kept) <= EVEN + NEWEST
    gaps = [later - earlier for earlier, later in pairwise(kept)][: -NEWEST - 1]
    assert max(gaps) <= 2 * min(gaps)
