"""What grows all the time, and what only jumped or varies."""

from __future__ import annotations

import random

import pytest

from hangtop.common.trend import trend_of


@pytest.mark.parametrize("count", [20, 32, 88])
def test_a_line_is_found_among_noise(count: int) -> None:
    dice = random.Random(count)
    trend = trend_of([(10.0 * place, 2 + 5 * place / count + 0.5 * dice.random()) for place in range(count)])
    assert trend is not None
    assert trend.slope == pytest.approx(0.5 / count, rel=0.2)
    assert (round(trend.first), round(trend.last)) == (2, 7)


def test_noise_a_jump_and_two_jumps_are_no_line() -> None:
    dice = random.Random(4)
    noise = [[(float(place), dice.lognormvariate(0, 0.3)) for place in range(60)] for _ in range(100)]
    assert [points for points in noise if trend_of(points)] == []
    jumps = [(float(place), 2 + 5 * (place > 40) + 0.2 * dice.random()) for place in range(80)]
    assert trend_of(jumps) is None
    assert trend_of([(place, value + 2 * (place > 60)) for place, value in jumps]) is None


def test_few_points_tell_nothing() -> None:
    assert trend_of([(float(place), float(place)) for place in range(10)]) is None
