"""Whether the GPUs of a plan have their memory back, by fresh readings. A probe asks the driver, because that may hang."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.common import clock, text
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.monitor.headless import states
from hangtop.records.gpu import Gpu
from hangtop.records.plan import Plan, Step
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

LOOK_EVERY_S = 0.25
FREE_BYTES = 512 * 1024 * 1024
"""What a GPU may hold and count as free: contexts of the driver and its daemons (NVRx waits for the same)."""
PATIENCE_S = 50.0
"""The driver may take so long to give memory back, and to answer at all (NVRx waits as long)."""


def wait_gpu_freed(plan: Plan, halt: CancelFlag) -> Generator[Step, None, bool]:
    """One step for each GPU of the plan. Returns whether all are free of this run, as far as can be seen."""
    if not (gpus := _wanted(plan)):
        return True
    yield step("doing", f"waiting for the driver to give the memory of GPU {text.rank_ranges(gpus)} back")
    steps = asyncio.run(_steps(plan, halt))
    yield from steps
    return all(done.kind != "survived" for done in steps)


async def _steps(plan: Plan, halt: CancelFlag) -> tuple[Step, ...]:
    ended_at = clock.now()
    async for state in states(ProbeFeed(WatchSpec(sources=("gpu",))), LOOK_EVERY_S):
        if state.gpus and (proof := gpu_memory(plan, state, ended_at, clock.now())) is not None:
            return proof
        health = state.health.get("gpu")
        if health is not None and health.absent:
            return (step("skipped", f"GPU memory cannot be looked at: {health.absent}"),)
        if clock.now() - ended_at > PATIENCE_S:
            break
        if halt():
            return (step("skipped", "GPU memory was not waited for"),)
    return (step("survived", f"the GPU driver has not answered for {PATIENCE_S:.0f} s: whether memory is free is not known"),)


def gpu_memory(plan: Plan, state: RunState, ended_at: float, now: float) -> tuple[Step, ...] | None:
    """One step for each GPU of the plan, once all are free or `PATIENCE_S` is over; `None` until then."""
    gpus = {gpu.index: gpu for node in state.gpus.values() for gpu in node.reading.gpus}
    pids = {target.pid for target in plan.targets}
    found = [_step_for(gpus.get(index), index, pids, ended_at, now) for index in _wanted(plan)]
    if now - ended_at < PATIENCE_S and any(known is None or known.kind != "proof" for known in found):
        return None
    return tuple(known for known in found if known is not None)


def _wanted(plan: Plan) -> list[int]:
    return sorted({gpu for target in plan.targets for gpu in target.gpus})


def _step_for(gpu: Gpu | None, index: int, pids: set[int], ended_at: float, now: float) -> Step | None:
    if gpu is None or gpu.read_at is None or gpu.read_at <= ended_at:
        return None if now - ended_at < PATIENCE_S else Step(now, "survived", f"GPU {index}: the driver has not answered since")
    used = text.size(gpu.used_bytes)
    if gpu.used_bytes is not None and gpu.used_bytes <= FREE_BYTES:
        return Step(now, "proof", f"GPU {index} is free, {used} used")
    still = [process.pid for process in gpu.processes if process.pid in pids]
    others = [process.pid for process in gpu.processes if process.pid not in pids and process.visible]
    if still:
        return Step(now, "survived", f"GPU {index}: the driver still lists pid {text.rank_ranges(still)} of this run, {used}")
    if gpu.used_bytes is None:
        return Step(now, "survived", f"GPU {index}: the driver does not tell how much is taken")
    if len(others) < len(gpu.processes):
        return Step(now, "survived", f"GPU {index}: {used} are still taken, by a process that cannot be seen from here")
    if others:
        held = ", ".join(f"pid {pid}" for pid in others)
        return Step(now, "proof", f"GPU {index}: nothing of this run is left; {used} are held by {held}, not of this run")
    mend = f"nvidia-smi --gpu-reset -i {index} frees it"
    return Step(now, "survived", f"GPU {index}: {used} are still taken and no process is listed: {mend}")
