"""One clock for all threads of a process."""

from __future__ import annotations

import time

import pytest

from hangtop.common import clock


@pytest.mark.parametrize(
    ("now", "period_s", "at_s", "least_s", "pause_s"),
    [
        (10.25, 1.0, 0.0, 0.0, 0.75),
        (10.75, 1.0, 0.75, 0.05, 1.0),
        (10.5, 1.0, 0.75, 0.05, 0.25),
        (10.9, 1.0, 0.0, 0.5, 1.1),
        (11.0, 5.0, 0.0, 2.5, 4.0),
    ],
)
def test_a_pause_ends_at_a_whole_multiple_of_its_period_and_is_never_too_short(
    monkeypatch: pytest.MonkeyPatch, now: float, period_s: float, at_s: float, least_s: float, pause_s: float
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert clock.until_next(period_s, at_s=at_s, least_s=least_s) == pytest.approx(pause_s)
