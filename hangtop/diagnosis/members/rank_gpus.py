"""Which rank and which process computes on which GPU. The only place that joins them.

The driver's own list tells it, and where that is hidden, as in a container, the device files that a process holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hangtop.diagnosis.members.writer_presence import nobody_here
from hangtop.records.gpu import Gpu, GpuReading, GpuTrack
from hangtop.records.process import Process, ProcessReading
from hangtop.records.rank import Rank
from hangtop.state.run_state import RunState


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

    The driver's list first. Else `devices`, the numbers N of the `/dev/nvidiaN` it holds, one entry for each open file, when that
    is one GPU; else `visible_devices` (`CUDA_VISIBLE_DEVICES`) when that names just one; else the GPU that is held most often: a
    process opens all GPUs that it may see, but those it computes on more often.
    """
    listed = tuple(sorted(memory_of(gpus).get(pid, {})))
    if listed:
        return listed
    held, named = Counter(devices).most_common(2), _named(visible_devices, gpus)
    if not held or (len(held) > 1 and (named or held[0][1] == held[1][1])):
        return named
    index = _by_minor(gpus).get(held[0][0])
    return named if index is None else (index,)


def gpu_of_rank(process: Process, local_rank: int | None, gpus: Sequence[Gpu]) -> int | None:
    """The GPU of a rank, where it is one. In a container neither the driver nor the device files may tell: then, if the rank
    has GPUs open, the visible GPU with the number of its local rank, as is usual."""
    found = gpus_of(process.pid, gpus, process.devices, process.visible_devices)
    if len(found) != 1 and local_rank is not None:
        opened = {_by_minor(gpus).get(minor) for minor in process.devices}
        names = _names(process.visible_devices) or [str(gpu.index) for gpu in gpus]
        by_place = _named("".join(names[local_rank : local_rank + 1]), gpus)
        found = tuple(index for index in by_place if index in opened)
    return found[0] if len(found) == 1 else None


def _by_minor(gpus: Iterable[Gpu]) -> dict[int, int]:
    return {gpu.minor if gpu.minor is not None else gpu.index: gpu.index for gpu in gpus}


def _names(visible_devices: str | None) -> list[str]:
    return [name.strip() for name in (visible_devices or "").split(",") if name.strip()]


def _named(visible_devices: str | None, gpus: Sequence[Gpu]) -> tuple[int, ...]:
    names = _names(visible_devices)
    if len(names) != 1:
        return ()
    if names[0].isdecimal() and not any(gpu.index == int(names[0]) for gpu in gpus):
        return (int(names[0]),)  # of a node whose GPUs nobody reads
    return tuple(gpu.index for gpu in gpus if names[0] == str(gpu.index) or (gpu.uuid or "").startswith(names[0]))


def bytes_held(gpus: Sequence[Gpu], processes: Iterable[Process]) -> dict[int, dict[int, int]]:
    """Rank → GPU index → bytes that the rank and the processes below it hold there, as the driver says."""
    rank_of = {process.pid: process.rank for process in processes if process.rank is not None}
    held: dict[int, dict[int, int]] = {}
    for pid, sizes in memory_of(gpus).items():
        if pid in rank_of:
            of_rank = held.setdefault(rank_of[pid], {})
            for index, size in sizes.items():
                of_rank[index] = of_rank.get(index, 0) + (size or 0)
    return held


def gpu_host(rank: Rank, state: RunState) -> str | None:
    """The node on which the rank computes, among those whose GPUs are read; `None` where it is none of them, or not known.

    With one such node it is that, where no host is known, or where the log calls the host by another name than its GPUs do.
    """
    if rank.host in state.gpus or len(state.gpus) != 1:
        return rank.host if rank.host in state.gpus else None
    is_elsewhere = rank.process is None or rank.host in state.processes
    return None if rank.host is not None and is_elsewhere else next(iter(state.gpus))


def ranks_on(ranks: Iterable[Rank], state: RunState, host: str) -> dict[int, tuple[int, ...]]:
    """GPU index → the ranks that compute on it, of one node."""
    found: dict[int, list[int]] = {}
    for rank in ranks:
        if rank.gpu is not None and gpu_host(rank, state) == host:
            found.setdefault(rank.gpu, []).append(rank.rank)
    return {index: tuple(numbers) for index, numbers in found.items()}


def gpu_of(rank: Rank, state: RunState) -> tuple[Gpu, GpuTrack] | None:
    """The GPU that a rank computes on, and its past."""
    host = gpu_host(rank, state)
    node = state.gpus[host] if host is not None else None
    gpu = next((gpu for gpu in node.reading.gpus if gpu.index == rank.gpu), None) if node is not None else None
    return None if node is None or gpu is None else (gpu, node.tracks.get(gpu.index, GpuTrack()))


def of_run(state: RunState, host: str) -> frozenset[int] | None:
    """Indices of the GPUs of this host that the run computes on, or may compute on where that is not known of all its ranks.
    `None`: of all GPUs.

    Empty where no process of the run lives here, or where all its processes were looked into and hold no GPU: what computes
    there belongs to others. A rank that ended holds nothing any more, and its GPU must not drop out of the comparison. Then
    all GPUs are compared except those that only processes of others use.
    """
    node, procs = state.gpus.get(host), state.processes.get(host)
    if node is None or procs is None:
        return None
    if nobody_here(procs):
        return frozenset()
    if any(process.role == "rank" for process in procs.ended) or not procs.processes:
        return _not_of_others(node.reading, procs)
    if _holds_none(node.reading, procs):
        return frozenset()
    gpus = node.reading.gpus
    found = {
        process.pid: gpus_of(process.pid, gpus, process.devices, process.visible_devices)
        or tuple(index for index in (gpu_of_rank(process, process.local_rank, gpus),) if index is not None)
        for process in procs.processes
    }
    if any(process.role == "rank" and not found[process.pid] for process in procs.processes):
        return _not_of_others(node.reading, procs)
    return frozenset(index for indices in found.values() for index in indices) or _not_of_others(node.reading, procs)


def _not_of_others(node: GpuReading, procs: ProcessReading) -> frozenset[int] | None:
    """All GPUs except those on which the driver lists processes, all of them visible from here and none of the run's."""
    own = {process.pid for process in (*procs.processes, *procs.ended, *procs.orphans)} | {writer.pid for writer in procs.writers}
    others = {
        gpu.index
        for gpu in node.gpus
        if gpu.processes and all(process.visible and process.pid not in own for process in gpu.processes)
    }
    return frozenset(gpu.index for gpu in node.gpus) - others if others and not procs.hidden else None


def _holds_none(node: GpuReading, procs: ProcessReading) -> bool:
    """Its ranks were all looked into, and nobody of the run has a GPU open or is in the driver's list: it runs on the CPU.

    Told of NVIDIA's driver alone, whose device files are known. With Ray the GPUs are its workers', which need not be ranks.
    """
    ranks = [process for process in procs.processes if process.role == "rank"]
    if node.vendor != "NVIDIA" or not ranks or any(process.role == "ray worker" for process in procs.processes):
        return False
    listed = memory_of(node.gpus)
    return not any(
        process.devices or process.pid in listed or process.missing_right or process.exited for process in procs.processes
    )
