"""The GPUs of a node over the whole watch: each keeps its index, its last values and its history. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from hangtop.records.gpu import Gpu, GpuReading, GpuTrack, NodeGpus
from hangtop.records.samples import Samples, add_recent, add_whole

UNLISTED = "the driver no longer lists it"


def fold_gpus(known: NodeGpus | None, reading: GpuReading, at: float) -> NodeGpus:
    """The node after this reading. A GPU that the driver leaves out stays as lost; a driver that hangs leaves the old values."""
    before = {gpu.index: gpu for gpu in known.reading.gpus} if known else {}
    if before and not reading.gpus:
        now = {index: _unanswered(gpu, reading.stuck_since) for index, gpu in before.items()}
    else:
        now = _with_their_index(reading.gpus, before)
        now.update((index, _lost(gpu, at)) for index, gpu in before.items() if index not in now)
    gpus = tuple(now[index] for index in sorted(now))
    tracks = known.tracks if known else {}
    return NodeGpus(
        reading=replace(reading, gpus=gpus, driver=reading.driver or (known.reading.driver if known else None)),
        at=at,
        tracks=MappingProxyType(
            {gpu.index: _track(tracks.get(gpu.index, GpuTrack()), gpu, before.get(gpu.index)) for gpu in gpus}
        ),
    )


def _with_their_index(gpus: Iterable[Gpu], before: Mapping[int, Gpu]) -> dict[int, Gpu]:
    """The GPUs by their old index, matched by UUID: a restarted driver numbers only the GPUs that it finds (nvtop then shows GPU
    4 as 3)."""
    index_of: dict[str | None, int] = {gpu.uuid: index for index, gpu in before.items() if gpu.uuid}
    found: dict[int, Gpu] = {}
    for gpu in sorted(gpus, key=lambda gpu: gpu.uuid not in index_of):
        index = index_of.get(gpu.uuid, gpu.index)
        if index in found or (gpu.uuid and gpu.uuid not in index_of and before.get(index, gpu).uuid not in (None, gpu.uuid)):
            index = max((*before, *found)) + 1
        found[index] = _merged(replace(gpu, index=index), before.get(index))
    return found


def _merged(gpu: Gpu, before: Gpu | None) -> Gpu:
    """The GPU with what a new probe cannot know: the values of a GPU that it never reached, and the last Xid."""
    if before is None:
        return gpu
    if gpu.read_at is None:
        if gpu.status in ("reading", before.status):  # NVML was reopened and has told nothing new
            return before if gpu.xid is None else replace(before, xid=gpu.xid, xid_at=gpu.xid_at)
        return replace(before, status=gpu.status, since=gpu.since, why=gpu.why, xid=gpu.xid or before.xid)
    return gpu if gpu.xid is not None else replace(gpu, xid=before.xid, xid_at=before.xid_at)


def _lost(gpu: Gpu, at: float) -> Gpu:
    return gpu if gpu.status == "lost" else replace(gpu, status="lost", why=UNLISTED, since=at)


def _unanswered(gpu: Gpu, since: float | None) -> Gpu:
    """The GPU while the driver lists none: unchanged while NVML is being reopened, `no answer` if that hangs."""
    return (
        gpu if since is None or gpu.status in ("lost", "no answer") else replace(gpu, status="no answer", why=None, since=since)
    )


def _track(track: GpuTrack, gpu: Gpu, before: Gpu | None) -> GpuTrack:
    """The history with the new values. A value that stays because the driver does not answer is not added."""
    at = gpu.read_at
    if at is None or (before is not None and before.read_at == at):
        return track
    return GpuTrack(
        util_percent=_added(track.util_percent, at, gpu.util_percent),
        power_w=_added(track.power_w, at, gpu.power_w),
        used_bytes=track.used_bytes if gpu.used_bytes is None else add_whole(track.used_bytes, at, gpu.used_bytes),
    )


def _added(samples: Samples, at: float, value: float | None) -> Samples:
    return samples if value is None else add_recent(samples, at, value)
