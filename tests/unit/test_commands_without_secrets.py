"""Command lines leave the probe without their secrets, in whichever reading they stand."""

from __future__ import annotations

import tracemalloc

import pytest

from hangtop.probe.without_secrets import SecretFilter
from hangtop.records import wire
from hangtop.records.log import LogReading
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.reading import Reading, Value
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.records.watched_waits import WaitsReading, WatchedProcess

SECRET = "hf_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z"
COMMAND = f"python train.py --hub-token {SECRET} --lr 1e-4"
PROCESS = Process(pid=7, started_at=1.0, start_ticks=1, ppid=1, name="python", command=COMMAND, state="S")


@pytest.mark.parametrize(
    "value",
    [
        ProcessReading(processes=(PROCESS,)),
        ProcessReading(orphans=(PROCESS,)),
        ProcessReading(zombies=(PROCESS,)),
        ProcessReading(ended=(PROCESS,)),
        ProcessReading(writers=(Writer(7, 1.0, "python", COMMAND),)),
        WaitsReading(1, 1.0, processes=(WatchedProcess(7, 1, "S", "python", COMMAND),)),
        RunsReading((RunCandidate("train.log", 7, 1.0, 1, COMMAND),)),
    ],
)
def test_no_command_line_carries_a_token_out_of_the_probe(value: Value) -> None:
    told = wire.encode(Reading("source", "here", 1.0, SecretFilter().value(value))).decode()
    assert SECRET not in told
    assert "train.py" in told
    assert "--lr 1e-4" in told


def test_what_a_log_says_once_is_not_remembered() -> None:
    """A log of half a second a step would cost 3 MB an hour."""
    secrets = SecretFilter()
    secrets.value(LogReading((), last_line="step 0 loss 2.0"))
    tracemalloc.start()
    try:
        for step in range(1_000):
            secrets.value(LogReading((), last_line=f"step {step} loss 2.{step}"))
        assert tracemalloc.get_traced_memory()[0] < 20_000
    finally:
        tracemalloc.stop()
