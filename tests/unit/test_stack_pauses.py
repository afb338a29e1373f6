"""Who may be stopped for a moment, and what is said before."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.facts.stack_pauses import pause
from hangtop.records.process import ProcessReading, Writer
from tests.fakes.members import process

RANKS = tuple(replace(process(rank), uid=1_000, user="alice") for rank in range(4))
WRITES = (Writer(100, 1.0, "python", "python train.py"),)
PIDS = tuple(rank.pid for rank in RANKS)


def test_the_runs_own_processes_are_named_with_their_start() -> None:
    found = pause(ProcessReading(writers=WRITES, processes=RANKS), PIDS)
    assert found.stop == dict.fromkeys(PIDS, 7)
    assert found.said == "stops each of these 4 processes for about 0.1 s, at most 3 s: pid 100-103"
    assert found.spared == ()


def test_who_is_not_proven_or_would_not_stop_is_spared_and_said() -> None:
    others = replace(RANKS[1], uid=2_000, user="bob")
    blocked, traced = replace(RANKS[2], state="D"), replace(RANKS[3], tracer_pid=77)
    found = pause(ProcessReading(writers=WRITES, processes=(RANKS[0], others, blocked, traced)), (*PIDS, 999))
    assert set(found.stop) == {100}
    assert "not stopped: pid 101, it belongs to bob, not to the user of the run" in found.spared
    assert "not stopped: pid 102, it is blocked in the kernel" in found.spared
    assert "not stopped: pid 103, pid 77 traces it already" in found.spared
    assert "not stopped: pid 999, no process of the run on this machine is known by that number" in found.spared


def test_nobody_is_stopped_who_is_only_taken_for_the_logs_writer() -> None:
    found = pause(ProcessReading(processes=RANKS, taken=PIDS), PIDS)
    assert (found.stop, found.said) == ({}, "no process is stopped")
    assert found.spared[0].startswith("not stopped: pid 100-103, only taken for the log's writer")
