"""Whether a GPU has its memory back, judged from fresh readings. Pure."""

from __future__ import annotations

from hangtop.common import text
from hangtop.records.gpu import Gpu
from hangtop.records.plan import Plan, Step
from hangtop.state.run_state import RunState

FREE_BYTES = 512 * 1024 * 1024
"""What a GPU may hold and count as free: contexts of the driver and its daemons (NVRx waits for the same)."""
PATIENCE_S = 50.0
"""The driver may take so long to give memory back, and to answer at all (NVRx waits as long)."""


def gpu_memory(plan: Plan, state: RunState, ended_at: float, now: float) -> tuple[Step, ...] | None:
    """One step for each GPU of the plan, once all are free or `PATIENCE_S` is over; `None` until then."""
    wanted = sorted({gpu for target in plan.targets for gpu in target.gpus})
    gpus = {gpu.index: gpu for node in state.gpus.values() for gpu in node.reading.gpus}
    pids = {target.pid for target in plan.targets}
    told = [_told(gpus.get(index), index, pids, ended_at, now) for index in wanted]
    if now - ended_at < PATIENCE_S and any(step is None or step.kind != "proof" for step in told):
        return None
    return tuple(step for step in told if step is not None)


def _told(gpu: Gpu | None, index: int, pids: set[int], ended_at: float, now: float) -> Step | None:
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
