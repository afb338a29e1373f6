"""Lines that share a row, and lines without an end: what they tell of whose step.

A driver of Ray prints from two threads. Where its output is not buffered, a line and its end are two writes, and the other thread
may come between them.
"""

from __future__ import annotations

import pytest

from tests.fakes.read_log import read

RANKS = 2
WORKERS = [f"\x1b[36m(WorkerDict pid={7_000 + rank})\x1b[0m " for rank in range(RANKS)]


def told(rank: int, step: int) -> str:
    return f"{WORKERS[rank]}rank {rank} of {RANKS} step {step}"


def trained(step: int) -> str:
    return f"step:{step} - actor/pg_loss:0.126 - perf/throughput:811.7 - timing_s/step:0.4"


def run(*rows: str, steps: int = 9) -> str:
    """A run of so many steps, with these rows after the fourth."""
    before, after = (
        [row for step in part for row in (trained(step), told(0, step), told(1, step))] for part in (range(1, 4), range(5, steps))
    )
    return "".join(f"{row}\n" for row in ("Total training steps: 400", *before, *rows, *after))


def steps_of(text: str) -> dict[int, int | None]:
    return {rank.rank: rank.step for rank in read(text).ranks}


def test_a_worker_s_line_behind_the_driver_s_is_a_line_of_its_own() -> None:
    """Else the driver's step counts as that worker's, and it seems to stay behind once others go on."""
    torn = run(trained(4) + told(1, 4), "", told(0, 4))
    assert steps_of(torn) == {0: 8, 1: 8}
    assert steps_of(run(trained(4) + told(1, 4), "", told(0, 4), steps=5)) == {0: 4, 1: 4}


@pytest.mark.parametrize("prefix", ["[rank1]: ", "[default1]:", "(WorkerDict pid=7001, ip=10.0.0.2) "])
def test_so_is_each_that_begins_with_its_writer(prefix: str) -> None:
    lines = "".join(f"{each}rank {rank} of {RANKS} is up\n" for rank, each in enumerate(("[rank0]: ", prefix)))
    (finding,) = read(
        f"{lines}step 11/90 loss 2.1{prefix}RuntimeError: CUDA error: an illegal memory access was encountered\nnext\n"
    ).findings
    assert finding.rank == 1
    assert finding.text.startswith("RuntimeError"), finding.text


@pytest.mark.parametrize("text", ["step 4, as (WorkerDict pid=7) said: loss 2.5", "step 4, see [rank1]: loss 2.5"])
def test_a_writer_that_is_only_named_begins_no_line(text: str) -> None:
    progress = read(text + "\n").progress
    assert (progress.step, progress.metrics) == (4, {"loss": 2.5})


def test_a_number_at_which_a_log_breaks_off_is_not_the_end_of_a_count() -> None:
    text = run(told(0, 4), told(1, 4)) + told(1, 9)[:-1] + "1"
    assert steps_of(text.removesuffix("1") + "10") == {0: 8, 1: 10}
    assert steps_of(text) == {0: 8, 1: 8}, "step 1 of step 10"
    assert steps_of(text + "\n") == {0: 8, 1: 1}


def test_nor_is_a_total() -> None:
    lines = "".join(f"step {step}/400 loss 2.1\n" for step in range(30, 41))
    assert read(f"{lines}step 41/40").progress.total == 400
    assert read(f"{lines}step 41/400").progress.step == 41
