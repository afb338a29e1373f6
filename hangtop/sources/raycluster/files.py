"""The output files of a cluster's workers: true per-rank progress, which Ray's deduplicated driver log does not have. Pure."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.ray import RayCluster


class WorkerLog(Struct, frozen=True):
    """A worker's output file on this machine. `stream`: `out` or `err`; tqdm bars go to `err`."""

    path: str
    pid: int
    stream: str
    actor: str
    name: str = ""
    rank: int | None = None


def worker_files(cluster: RayCluster) -> tuple[WorkerLog, ...]:
    """Both files of each actor that has a process here, ranks first and in order.

    A path is `<session>/logs/worker-<worker>-<job>-<pid>.out`; it starts with `:job_id:…` and `:actor_name:…`, lines for Ray.
    """
    local = [actor for actor in cluster.actors if actor.log is not None and actor.pid is not None]
    ordered = sorted(local, key=lambda actor: (actor.rank is None, actor.rank or 0, actor.pid or 0))
    return tuple(
        WorkerLog(f"{(actor.log or '').rpartition('.')[0]}.{stream}", actor.pid or 0, stream, actor.cls, actor.name, actor.rank)
        for actor in ordered
        for stream in ("out", "err")
    )
