"""The bench that tells how old the newest line on the screen is: a torn picture does not make lines younger than none."""

from __future__ import annotations

from math import inf

from tests.bench.freshness import ages

WRITTEN = [(9, 1.0), (19, 2.0), (29, 3.0)]


def test_a_number_is_as_old_as_the_picture_that_shows_it_or_a_later_one() -> None:
    assert ages([(1.5, [9]), (3.25, [12, 29])], WRITTEN) == [0.5, 1.25, 0.25]


def test_a_number_that_nobody_wrote_yet_is_torn_and_counts_for_nothing() -> None:
    assert ages([(1.5, [91, 9]), (2.5, [19]), (3.5, [29])], WRITTEN) == [0.5, 0.5, 0.5]


def test_what_was_never_shown_is_for_ever_old() -> None:
    assert ages([(1.5, [9])], WRITTEN) == [0.5, inf, inf]
