"""A sample of `python -m tests.scenarios.guard`: one real run that hangs at night."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.scenarios.guard.unattended import faults_of_recovery, unattended

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only"),
    pytest.mark.side_by_side,
]


def test_a_run_that_hangs_is_told_of_started_again_once_and_finishes(tmp_path: Path) -> None:
    assert faults_of_recovery(unattended("hang", tmp_path)) == []
