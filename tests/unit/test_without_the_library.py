"""What hangtop counts by itself, so as not to load a library for one call, is what the library counts."""

from __future__ import annotations

from calendar import timegm
from statistics import quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangtop.common.clock import unix_s
from hangtop.common.median import quantile

SECONDS = st.floats(0, 1e6, allow_nan=False)


@given(values=st.lists(SECONDS, min_size=2, max_size=40).map(sorted))
def test_quantiles_are_those_of_statistics(values: list[float]) -> None:
    cuts = quantiles(values, n=20, method="inclusive")
    assert [quantile(values, 0.5), quantile(values, 0.95)] == pytest.approx([cuts[9], cuts[18]])


def test_one_value_is_each_quantile() -> None:
    assert quantile([3.0], 0.5) == quantile([3.0], 0.95) == 3.0


@given(st.integers(1970, 2100), st.integers(1, 12), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_a_date_is_that_of_calendar_also_where_a_day_is_too_many(year: int, month: int, day: int, hour: int, minute: int) -> None:
    assert unix_s(year, month, day, hour, minute) == timegm((year, month, day, hour, minute, 0))


def test_a_month_that_is_none_is_refused_as_calendar_does() -> None:
    with pytest.raises(ValueError, match="month"):
        unix_s(2026, 13, 1)
