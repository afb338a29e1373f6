"""Ranks as lines of other writers name them: the one of which nothing more is said, and the one that is called missing."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.facts.named_voices import named_missing, named_voices
from hangtop.records.log import LogLine


def lines(*texts: str, rank: int | None = None, kind: str = "plain") -> tuple[LogLine, ...]:
    return tuple(LogLine(0, 100 * place, None, rank, "", text, kind) for place, text in enumerate(texts))


SAVING = [f"Saving out/step500/zero_pp_rank_{rank}_mp_rank_00.pt..." for rank in range(4)]


def test_the_number_that_differs_between_lines_of_one_form_is_the_rank() -> None:
    assert {rank: len(said) for rank, said in named_voices(lines(*SAVING)).items()} == {0: 1, 1: 1, 2: 1, 3: 1}


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([f"pp_rank_{rank}_mp_rank_{rank % 2}" for rank in range(4)], id="two numbers differ"),
        pytest.param([f"process {55_200 + rank} spawned" for rank in range(4)], id="pids"),
        pytest.param(["saved shard 3 of 8"] * 3, id="no rank"),
    ],
)
def test_other_numbers_are_no_ranks(texts: list[str]) -> None:
    assert named_voices(lines(*texts)) == {}


def test_lines_of_many_ranks_are_about_others_perhaps() -> None:
    both = (*lines("waits for rank 1", rank=0), *lines("waits for rank 2", rank=1))
    assert named_voices(both) == {}


@pytest.mark.parametrize(
    ("texts", "missing"),
    [
        pytest.param(["Missing ranks:", "3: [allreduce.a, allreduce.b ...]", "6: [allreduce.a]"], [3, 6], id="Horovod"),
        pytest.param(["Stalled ops: allreduce.a [missing ranks: 1, 2]"], [1, 2], id="Horovod before 0.19"),
        pytest.param(["Ranks 3, 5 failed to pass monitoredBarrier in 30000 ms"], [3, 5], id="torch"),
        pytest.param(["3: [a, b]", "loss 3.1"], [], id="no heading"),
    ],
)
def test_ranks_that_are_called_missing(texts: list[str], missing: list[int]) -> None:
    assert sorted(named_missing(lines(*texts))) == missing


def test_what_was_missing_before_the_last_step_came() -> None:
    told = (*lines("missing ranks: 3"), *lines("step 5/100", kind="progress"))
    assert named_missing(told) == {}
