"""Runs that really hang or really work, and what `hangtop check` says of them. The whole suite: `python -m tests.scenarios`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.case import HERE, Scenario, play, scenarios

QUICK = ("lock", "evaluate")
"""A hang and a run that works: the two that must never be confused. The others take minutes together."""


@pytest.mark.parametrize(
    "scenario", [scenario for scenario in scenarios() if scenario.name in QUICK], ids=lambda scenario: scenario.name
)
def test_a_real_run_is_judged_right(scenario: Scenario, tmp_path: Path) -> None:
    result = play(scenario, tmp_path, after=b"step 5/")
    assert result.verdict_right, result.answers
    assert result.kind_right is not False, result.answers


def test_every_scenario_names_a_program_of_this_folder_and_has_a_name_of_its_own() -> None:
    known = scenarios()
    assert len({scenario.name for scenario in known}) == len(known)
    assert all((HERE / "programs" / scenario.argv[0]).is_file() for scenario in known)
