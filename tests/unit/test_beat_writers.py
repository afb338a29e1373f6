"""Only beats come: a main thread that wakes up between them may print them, and is not accused."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.status.beat_writers import without_writers
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.process import RecentActivity
from tests.fakes.members import process


def stands(wakes_s: float, watched_s: float) -> MemberStatus:
    recent = RecentActivity(watched_s, 10, 0.0, switches_s=wakes_s)
    return MemberStatus("waits", "waits for a lock", process(0, recent))


@pytest.mark.parametrize(
    ("wakes_s", "watched_s", "strictly", "status"),
    [
        pytest.param(0.0, 5.0, True, "waits", id="it did not wake for as long as a beat takes"),
        pytest.param(0.0, 2.0, True, "works", id="it was watched for less than a beat"),
        pytest.param(0.3, 5.0, True, "works", id="it wakes as often as beats come"),
        pytest.param(10.0, 5.0, True, "works", id="it wakes more often"),
        pytest.param(0.3, 5.0, False, "works", id="the same line again and again, at its pace"),
        pytest.param(10.0, 5.0, False, "waits", id="the same line again and again, and it asks much more often"),
    ],
)
def test_who_may_print_the_beats(wakes_s: float, watched_s: float, strictly: bool, status: str) -> None:
    (said,) = without_writers((stands(wakes_s, watched_s),), 3.0, 8.0, strictly=strictly)
    assert said.status == status
