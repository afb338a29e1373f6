"""Wait until the GPUs of a plan have their memory back. A probe asks the driver, because that may hang."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.actions.prove.gpu_memory_check import PATIENCE_S, gpu_memory
from hangtop.common import clock, text
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.monitor.headless import states
from hangtop.records.plan import Plan, Step
from hangtop.records.watch_spec import WatchSpec

LOOK_EVERY_S = 0.25


def wait_gpu_freed(plan: Plan, halt: CancelFlag) -> Generator[Step, None, bool]:
    """One step for each GPU of the plan. Returns whether all are free of this run, as far as can be seen."""
    gpus = sorted({gpu for target in plan.targets for gpu in target.gpus})
    if not gpus:
        return True
    yield step("doing", f"waiting for the driver to give the memory of GPU {text.rank_ranges(gpus)} back")
    told = asyncio.run(_told(plan, halt))
    yield from told
    return all(said.kind != "survived" for said in told)


async def _told(plan: Plan, halt: CancelFlag) -> tuple[Step, ...]:
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
