"""The part of the proof that takes time: GPU memory. Judged from fresh readings, never asked of the driver here. Pure."""

from __future__ import annotations

from hangtop import text
from hangtop.model import RunState
from hangtop.records.gpu import Gpu
from hangtop.records.plan import Plan, Step

FREE_BYTES = 512 * 1024 * 1024
"""What a GPU may hold and count as free: contexts of the driver and its daemons (NVRx waits for the same)."""
PATIENCE_S = 50.0
"""So long the driver may take to give memory back, and to answer at all (NVRx waits as long)."""


def gpu_memory(plan: Plan, state: RunState, ended_at: float, now: float, host: str = "") -> tuple[Step, ...] | None:
    """One step a GPU of the plan, once all of them are free or the patience is over; `None` until then."""
    wanted = {gpu for target in plan.targets for gpu in target.gpus}
    nodes = [node for name, node in state.gpus.items() if not host or name == host]
    gpus = {gpu.index: gpu for node in nodes for gpu in node.reading.gpus}
    if not wanted or not gpus:
        return ()
    pids = {target.pid for target in plan.targets}
    told = {index: _told(gpus.get(index), index, pids, ended_at, now) for index in sorted(wanted)}
    if now - ended_at < PATIENCE_S and any(step is None or step.kind != "proof" for step in told.values()):
        return None
    return tuple(step for step in told.values() if step is not None)


def _told(gpu: Gpu | None, index: int, pids: set[int], ended_at: float, now: float) -> Step | None:
    if gpu is None or gpu.read_at is None or gpu.read_at <= ended_at:
        return None if now - ended_at < PATIENCE_S else Step(now, "survived", f"GPU {index}: the driver has not answered since")
    others = [process for process in gpu.processes if process.pid not in pids]
    still = [process.pid for process in gpu.processes if process.pid in pids]
    used = text.size(gpu.used_bytes)
    if still:
        return Step(now, "survived", f"GPU {index}: the driver still lists pid {text.rank_ranges(still)} of this run, {used}")
    if others:
        held = ", ".join(f"pid {process.pid}" for process in others)
        return Step(now, "proof", f"GPU {index}: nothing of this run is left; {used} are held by {held}, not of this run")
    if gpu.used_bytes is not None and gpu.used_bytes > FREE_BYTES:
        mend = f"nvidia-smi --gpu-reset -i {index} frees it"
        return Step(now, "survived", f"GPU {index}: {used} are still taken and no process is listed: {mend}")
    return Step(now, "proof", f"GPU {index} is free, {used} used")
