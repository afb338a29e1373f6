"""GPU memory is proved free by fresh readings only, and what still holds it is named."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.actions.prove.gpu_freed import PATIENCE_S, gpu_memory
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, NodeGpus
from hangtop.records.plan import Plan, Step, Target
from hangtop.state.run_state import RunState

MIB = 1 << 20
ENDED_AT = 100.0
PLAN = Plan("stop", "Stop", (Target(7, 1, 0.0, "python", "S", gpus=(0,)),))


def told(gpu: Gpu, now: float = ENDED_AT + 1) -> tuple[Step, ...] | None:
    return gpu_memory(PLAN, RunState(gpus={"n1": NodeGpus(GpuReading((gpu,)), now)}), ENDED_AT, now)


def gpu(used_mib: int | None, *processes: GpuProcess, read_at: float = ENDED_AT + 0.5) -> Gpu:
    return replace(Gpu(0), used_bytes=None if used_mib is None else used_mib * MIB, processes=processes, read_at=read_at)


def test_512_mb_count_as_free_and_one_more_does_not() -> None:
    free = told(gpu(512))
    assert free is not None
    assert [step.kind for step in free] == ["proof"]
    assert told(gpu(513)) is None
    (late,) = told(gpu(513), ENDED_AT + PATIENCE_S) or ()
    assert (late.kind, "nvidia-smi --gpu-reset -i 0" in late.text) == ("survived", True)


def test_a_reading_from_before_the_end_proves_nothing() -> None:
    old = gpu(0, read_at=ENDED_AT - 0.1)
    assert told(old) is None
    (late,) = told(old, ENDED_AT + PATIENCE_S) or ()
    assert (late.kind, "has not answered since" in late.text) == ("survived", True)


@pytest.mark.parametrize(
    ("process", "kind", "said"),
    [
        (GpuProcess(7, 900 * MIB), "survived", "still lists pid 7 of this run"),
        (GpuProcess(8, 900 * MIB), "proof", "held by pid 8, not of this run"),
        (GpuProcess(99, None, visible=False), "survived", "by a process that cannot be seen from here"),
    ],
)
def test_who_holds_it_is_named(process: GpuProcess, kind: str, said: str) -> None:
    (step,) = told(gpu(900, process), ENDED_AT + PATIENCE_S) or ()
    assert (step.kind, said in step.text) == (kind, True)


def test_a_driver_that_does_not_tell_proves_nothing() -> None:
    (step,) = told(gpu(None), ENDED_AT + PATIENCE_S) or ()
    assert step.kind == "survived"
