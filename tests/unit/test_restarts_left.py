"""A rank died, and the launcher that may start all of them again lives."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.probe.processes.rank_assignment import RankAssignment
from hangtop.records.process import Process, ProcessReading
from hangtop.records.verdict import Verdict
from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.table import Stat
from tests.fakes.members import ALL_REDUCE, NOW, SPEC, process, run

AGENT = replace(process(9), pid=99, ppid=1, rank=None, role="launcher", name="torchrun", command="torchrun --max-restarts 3 t.py")
DIED = replace(process(1, state="X", exit_code=1, restarts_left=2), state_since=NOW - 30)


def said(*here: Process, died: Process = DIED, silence_s: float = 30.0) -> Verdict:
    rank = process(0, restarts_left=died.restarts_left)
    state = run({0: ALL_REDUCE}, (*here, rank), silence_s=silence_s)
    return diagnose(replace(state, procs=ProcessReading(processes=(*here, rank), ended=(died,))), SPEC, NOW)


def test_it_waits_for_the_restart_for_as_long_as_a_run_may_rest() -> None:
    verdict = said(AGENT)
    assert (verdict.word, [culprit.rank for culprit in verdict.culprits]) == ("waiting", [1])
    assert "may start all ranks again (2 restarts left)" in verdict.headline
    assert said(AGENT, silence_s=5_000.0).word == "crashed"


@pytest.mark.parametrize("left", [0, None])
def test_no_try_is_left(left: int | None) -> None:
    assert said(AGENT, died=replace(DIED, restarts_left=left)).word == "crashed"


def test_the_launcher_is_gone() -> None:
    assert said().word == "crashed"


def test_each_rank_was_told_how_often_it_may_be() -> None:
    told = {"RANK": "1", "TORCHELASTIC_MAX_RESTARTS": "3", "TORCHELASTIC_RESTART_COUNT": "1"}
    stat, ranks = Stat(7, "python", "S", 1, 7, 7, 5), RankAssignment()
    ranks.assign([7], {7: stat}, {7: ProcessFacts.of("python", ("python", "t.py"), told)})
    assert ranks.place_of(stat.identity).restarts_left == 2
