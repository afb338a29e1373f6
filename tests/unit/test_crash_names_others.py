"""A message that one rank prints about another: the one it names is to blame, not the one that prints it."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.records.health import SourceHealth
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.corpus.score import NOW, read

STEPS = "".join(f"[rank0]: step {step}/5000 loss {2 - step / 9000:.4f}\n" for step in range(20))
ENDED = (
    "E0308 04:16:34.775000 210 torch/distributed/elastic/multiprocessing/api.py:870] failed (exitcode: 1) "
    "local_rank: {} (pid: 281) of binary: /usr/bin/python3\n"
)
REDUCE, GATHER = "OpType=ALLREDUCE, TensorShape=[1]", "OpType=ALLGATHER, TensorShape=[1]"
RAY = 'Traceback (most recent call last):\n  File "fit.py", line 9, in <module>\n    trainer.fit()\n'


def verdict(text: str) -> Verdict:
    log = read(text.encode(), 60.0)
    state = RunState(log=log, tail=log.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    return diagnose(state, WatchSpec(logs=("train.log",)), NOW)


def mismatch(*ran: str) -> str:
    """All ranks but rank 0 compare theirs with that of the next; rank 0 ends first."""
    sides = [
        f"Rank {rank} is running collective: CollectiveFingerPrint({what}, TensorDtypes=Float)" for rank, what in enumerate(ran)
    ]
    told = "".join(
        f"[rank{rank}]: RuntimeError: Detected mismatch between collectives on ranks. {sides[rank]}, "
        f"but {sides[(rank + 1) % len(ran)]}.Collectives differ in the following aspects: Op type\n"
        for rank in range(1, len(ran))
    )
    return STEPS + told + ENDED.format(0)


@pytest.mark.parametrize(
    ("ran", "wrong"),
    [
        ((REDUCE, REDUCE, GATHER, REDUCE), [2]),
        ((GATHER, REDUCE, REDUCE), [0]),
        (("SequenceNumber=9, OpType=BARRIER", "SequenceNumber=8, OpType=BARRIER", "SequenceNumber=9, OpType=BARRIER"), [1]),
        ((REDUCE.replace("[1]", "[64, 3]"), *(REDUCE,) * 6, GATHER), [0, 7]),
        ((REDUCE, GATHER), []),
        ((REDUCE, GATHER, REDUCE, GATHER), []),
    ],
)
def test_of_collectives_that_differ_that_of_the_fewer_ranks_is_wrong(ran: tuple[str, ...], wrong: list[int]) -> None:
    told = verdict(mismatch(*ran))
    assert (told.word, [culprit.rank for culprit in told.culprits]) == ("crashed", wrong)


@pytest.mark.parametrize("missed", ["Rank 7", "Ranks 7"])
@pytest.mark.parametrize("reports", [0, 4])
def test_the_rank_that_a_peer_missed_is_to_blame_though_others_lost_that_peer(missed: str, reports: int) -> None:
    lost = "".join(
        f"[rank{rank}]: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.1.0.14]:5202{rank}\n"
        for rank in (1, 2, 3)
    )
    barrier = f"[rank{reports}]: RuntimeError: [Rank {reports}]: {missed} failed to pass monitoredBarrier in 1800000 ms\n"
    told = verdict(STEPS + barrier + lost + ENDED.format(reports))
    assert [culprit.rank for culprit in told.culprits] == [7]


@pytest.mark.parametrize("heading", ["[Rank 2]:", "[Rank 2 Error Snippet]:"])
@pytest.mark.parametrize(
    "below", ["The actor died because its node has died.", "ValueError: no such column", "Killed by the OOM killer"]
)
def test_the_rank_below_an_exception_that_ends_with_a_colon_is_the_one_that_failed(heading: str, below: str) -> None:
    error = f"{RAY}ray.train.WorkerGroupError: Training failed due to worker errors:\n{heading}\n{below}\n"
    assert [culprit.rank for culprit in verdict(STEPS + error).culprits] == [2]
