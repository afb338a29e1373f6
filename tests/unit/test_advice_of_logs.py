"""Of a log that falls silent without a message: what it says of how the run is built tells the likeliest cause."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.health import SourceHealth
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState
from tests.corpus.score import NOW, read

SPEC = WatchSpec(logs=("train.log",))
HOURS_S = 4 * 3600.0


def first_cause(log: str) -> str:
    """Of a log that was written to hours ago."""
    reading = read(log.encode(), HOURS_S)
    state = RunState(log=reading, tail=reading.tail, health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)
    return advice(take_snapshot(state, SPEC, NOW), diagnose(state, SPEC, NOW))[0].cause


GROUP = (
    "host:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via {}\nhost:1:2 [0] NCCL INFO comm 0x5 rank 0 nranks 2 - Init COMPLETE\n"
)


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (GROUP.format("P2P/IPC"), "direct copies between GPUs fail"),
        (GROUP.format("NET/Socket/0"), "ports between the nodes are closed"),
        (GROUP.format("SHM/direct"), "the next step of the script"),
        ("> initializing torch distributed ...\n> compiling and loading fused kernels ...\n", "left its lock file"),
        ("Fetching 163 files:  98%|█████████▊| 160/163 [11:02<00:12,  4.14s/it]\n", "Xet"),
        ("step 100: evaluating on 1024 examples\n", "only some ranks entered the evaluation"),
        ("Adding EOS (num_proc=2):   0%|          | 0/2 [00:00<?, ? examples/s]\n", "map forked its workers"),
        ("saving model to '/ckpt/val_loss=3.18.ckpt' as top 3\n", "a metric that differs between the ranks"),
        ("saving model to '/ckpt/last.ckpt'\n", "a slow or full shared disk"),
    ],
)
def test_the_first_cause_is_the_one_that_the_log_speaks_for(log: str, cause: str) -> None:
    assert cause in first_cause(log)


def test_an_extension_that_was_built_is_no_longer_in_the_way() -> None:
    built = "Emitting ninja build file /c/cpu_adam/build.ninja...\nTime to load cpu_adam op: 2.31 seconds\n"
    assert "lock file" not in first_cause(built)


def test_a_wait_that_is_over_is_not_advised_on() -> None:
    over = "Waiting for register center actor a1_register_center to be ready.\n"
    shards = "Loading checkpoint shards:  50%|#  | 1/2 [00:03<00:03,  3s/it]\n"
    assert "waits for others" not in first_cause(over + shards)
