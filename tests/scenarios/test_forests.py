"""A few forests of processes with fixed seeds: `python -m tests.scenarios.forests --count 200` plays as many as are wanted."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.scenarios.forests.__main__ import faults, play


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare(1) for a pid namespace")
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_stop_hits_no_innocent_and_leaves_nothing_of_the_run_unnamed(seed: int) -> None:
    result = play(seed)
    assert "problem" not in result, result
    assert result["born"], "something was born while the run ended"
    assert faults(result) == {}, result
