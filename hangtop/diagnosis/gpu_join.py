"""Which process is on which GPU: by the driver's own list, and where that is hidden by the device files that a process holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from hangtop.diagnosis.gpu import all_lately, busy_waits, is_current
from hangtop.diagnosis.presence import nobody_here
from hangtop.model import RunState
from hangtop.ranks import Rank
from hangtop.records.gpu import Gpu, GpuReading
from hangtop.records.process import Process, ProcessReading


def memory_of(gpus: Iterable[Gpu]) -> dict[int, dict[int, int | None]]:
    """pid → GPU index → bytes, as the driver says; MIG instances are added up, pids that cannot be seen from here left out."""
    found: dict[int, dict[int, int | None]] = {}
    for gpu in gpus:
        for process in gpu.processes:
            if process.visible:
                held = found.setdefault(process.pid, {})
                known = held.get(gpu.index)
                held[gpu.index] = process.used_bytes if known is None else known + (process.used_bytes or 0)
    return found


def gpus_of(pid: int, gpus: Sequence[Gpu], devices: Sequence[int] = (), visible_devices: str | None = None) -> tuple[int, ...]:
    """Indices of the GPUs that this process computes on.

    The driver's list first. Else `devices`, the numbers N of the `/dev/nvidiaN` it holds, one entry for each open file: a
    process opens all GPUs that it may see, but those it computes on more often. Else `visible_devices`
    (`CUDA_VISIBLE_DEVICES`) when that names just one.
    """
    listed = tuple(sorted(memory_of(gpus).get(pid, {})))
    if listed:
        return listed
    held = _most_held(devices)
    by_minor = {gpu.minor if gpu.minor is not None else gpu.index: gpu.index for gpu in gpus}
    if len(held) == 1 and held[0] in by_minor:
        return (by_minor[held[0]],)
    return _named(visible_devices, gpus)


def _most_held(devices: Sequence[int]) -> tuple[int, ...]:
    counts = Counter(devices)
    most = max(counts.values(), default=0)
    return tuple(sorted(minor for minor, count in counts.items() if count == most))


def _names(visible_devices: str | None) -> list[str]:
    return [name.strip() for name in (visible_devices or "").split(",") if name.strip()]


def _named(visible_devices: str | None, gpus: Sequence[Gpu]) -> tuple[int, ...]:
    names = _names(visible_devices)
    if len(names) != 1:
        return ()
    return tuple(gpu.index for gpu in gpus if names[0] == str(gpu.index) or (gpu.uuid or "").startswith(names[0]))


def holders(gpus: Sequence[Gpu], devices: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """GPU index → pids that compute on it. `devices`: pid → numbers of the `/dev/nvidiaN` it holds."""
    found: dict[int, list[int]] = {gpu.index: [] for gpu in gpus}
    for pid in sorted({*devices, *memory_of(gpus)}):
        for index in gpus_of(pid, gpus, devices.get(pid, ())):
            found[index].append(pid)
    return {index: tuple(pids) for index, pids in found.items()}


def of_run(state: RunState, host: str) -> frozenset[int] | None:
    """Indices of the GPUs of this host that the run computes on; `None` when that is not known of all its ranks.

    None at all where nobody of the run lives, or where all its processes were looked into and hold no GPU: what computes there
    is other people's. A rank that ended holds nothing any more, and its GPU must not drop out of the comparison: then all are
    compared.
    """
    node, procs = state.gpus.get(host), state.processes.get(host)
    if node is None or procs is None:
        return None
    if nobody_here(procs):
        return frozenset()
    if any(one.role == "rank" for one in procs.ended) or not procs.processes:
        return None
    if _holds_none(node.reading, procs):
        return frozenset()
    found = {
        process.pid: gpus_of(process.pid, node.reading.gpus, process.devices, process.visible_devices)
        for process in procs.processes
    }
    if any(process.role == "rank" and not found[process.pid] for process in procs.processes):
        return None
    return frozenset(index for indices in found.values() for index in indices) or None


def _holds_none(node: GpuReading, procs: ProcessReading) -> bool:
    """Its ranks were all looked into, and nobody of the run has a GPU open or is in the driver's list: it runs on the CPU.

    Told of NVIDIA's driver alone, whose device files are known. With Ray the GPUs are its workers', which need not be ranks.
    """
    ranks = [process for process in procs.processes if process.role == "rank"]
    if node.vendor != "NVIDIA" or not ranks or any(process.role == "ray worker" for process in procs.processes):
        return False
    listed = memory_of(node.gpus)
    return not any(
        process.devices or process.pid in listed or process.missing_right or process.state in "ZX" for process in procs.processes
    )


def spinning(state: RunState, now: float) -> Callable[[Rank, Process], bool]:
    """Whether the GPU of a rank busy-waits; one whose GPU is not known does if all of its host do."""

    @cache
    def of_host(host: str) -> dict[int, bool]:
        node, mine = state.gpus[host], of_run(state, host)
        both = [
            pair for pair in zip(node.reading.gpus, all_lately(node, now), strict=True) if mine is None or pair[0].index in mine
        ]
        return {gpu.index: busy_waits(gpu) and busy_waits(mean) for gpu, mean in both if is_current(gpu, now)}

    def spins(rank: Rank, process: Process) -> bool:
        host = next(iter(state.gpus), "") if rank.host is None and len(state.gpus) == 1 else rank.host or ""
        if host not in state.gpus:
            return False
        known, index = of_host(host), index_of(rank, process, state.gpus[host].reading.gpus)
        return known.get(index, False) if index is not None else bool(known) and all(known.values())

    return spins


def index_of(rank: Rank, process: Process | None, gpus: Sequence[Gpu]) -> int | None:
    """The GPU of a rank; where driver and device files do not tell (in a container), the one of its local rank, as is usual."""
    if rank.gpu is not None or process is None:
        return rank.gpu
    found = gpus_of(process.pid, gpus, process.devices, process.visible_devices)
    names = _names(process.visible_devices) or [str(gpu.index) for gpu in gpus]
    if len(found) != 1 and rank.local_rank is not None:
        found = _named("".join(names[rank.local_rank : rank.local_rank + 1]), gpus)
    return found[0] if len(found) == 1 else None
