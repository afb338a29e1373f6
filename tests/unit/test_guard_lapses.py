"""A silence that was not watched is none: the guard notices when it did not look, and when a clock was set."""

from __future__ import annotations

import pytest

from hangtop.guard.lapses import Lapses


def between(steady_s: float, wall_s: float) -> str:
    """What lies between two looks, by the steady clock and by that of the wall."""
    times = {"steady": 100.0, "wall": 5e8}
    lapses = Lapses(lambda: times["steady"], lambda: times["wall"])
    times["steady"] += steady_s
    times["wall"] += wall_s
    return lapses.since_last()


@pytest.mark.parametrize(("steady_s", "wall_s"), [(1.0, 1.0), (1.0, 1.4), (9.0, 9.0)])
def test_a_look_after_the_other_is_none(steady_s: float, wall_s: float) -> None:
    assert between(steady_s, wall_s) == ""


def test_a_machine_that_slept() -> None:
    assert between(1.0, 28_801.0) == "the clock went forward by 8h00, or this machine slept"


def test_a_clock_that_was_set_back() -> None:
    assert between(1.0, -3599.0) == "the clock went back by 1h00, or this machine slept"


def test_a_guard_that_was_stopped() -> None:
    assert between(3600.0, 3600.0) == "nothing was looked at for 1h00"
