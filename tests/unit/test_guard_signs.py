"""What a guard tells beside the verdict."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.guard.signs import signs
from hangtop.records.gpu import Gpu, GpuReading, NodeGpus
from hangtop.records.host import Disk, HostReading
from hangtop.records.log import LogReading, Pace, Progress
from hangtop.records.step_times import Was
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

NOW = 1_000.0
STEADY = tuple(1.0 + 0.01 * (number % 3) for number in range(60))


def told(log: LogReading | None = None, **more: object) -> dict[str, str]:
    state = RunState(log=log or LogReading(files=(), caught_up=True), **more)  # type: ignore[arg-type]
    return dict(signs(take_snapshot(state, WatchSpec(), NOW)))


def learning(*losses: float | None) -> LogReading:
    return LogReading(files=(), caught_up=True, progress=Progress(step=9, metrics={"loss": losses[-1]}, history={"loss": losses}))


def test_a_healthy_run_shows_none() -> None:
    assert told(learning(*STEADY)) == {}


def test_a_loss_that_is_no_number() -> None:
    assert told(learning(*STEADY, None)) == {"nan": "loss: not a number"}


def test_a_loss_that_jumped_and_stays_there() -> None:
    assert told(learning(*STEADY, 4.0)) == {}
    assert "the loss is 4" in told(learning(*STEADY, 4.0, 4.1, 4.2))["loss_jump"]


def test_a_loss_that_falls_is_no_jump() -> None:
    assert told(learning(*(10.0 / (1 + number) for number in range(80)))) == {}


def test_steps_that_take_twice_as_long() -> None:
    slower = LogReading(files=(), caught_up=True, pace=Pace(steps=90, lately_s=2.1, was=Was(1.0, 50, NOW - 60)))
    assert told(slower)["slow_steps"] == "a step takes 2.1 s, it took 1.0 s"
    assert "slow_steps" not in told(replace(slower, pace=replace(slower.pace, lately_s=1.9)))


def test_a_disk_that_is_full_and_memory_that_runs_out() -> None:
    machine = HostReading(cores=8, memory_bytes=100, available_bytes=4, disks=(Disk("/data", 100, 1),))
    found = told(machine=machine)
    assert "/data 99% full" in found["disk"]
    assert "free of" in found["memory"]


def test_a_gpu_that_the_driver_lost() -> None:
    gpus = GpuReading(gpus=(Gpu(0, "ok"), Gpu(1, "lost"), Gpu(2, "reset needed")))
    assert told(gpus={"n1": NodeGpus(gpus, NOW)}) == {"gpu_lost": "GPUs 1-2 lost"}
