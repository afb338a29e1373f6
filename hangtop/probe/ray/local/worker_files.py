"""The output files of a cluster's workers: true per-rank progress, which Ray's deduplicated driver log does not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from hangtop.diagnosis.facts.ray_health import outlier_actors
from hangtop.probe.ray.dashboard.remote_log import RemoteLog
from hangtop.records.ray import RayActor, RayCluster

MOST_FILES = 512
"""Two a rank: of the first 256 ranks."""


class WorkerLog(Struct, frozen=True):
    """A worker's output file. `stream`: `out` or `err`; tqdm bars go to `err`. `far`: it is on another node."""

    path: str
    pid: int
    stream: str
    actor: str
    name: str = ""
    rank: int | None = None
    job: str | None = None
    far: RemoteLog | None = None


FarLogs = Callable[[str, RayActor], Sequence[RemoteLog]]
"""Session and actor → its two output files, where it is on another node and that is reached."""


def worker_files(cluster: RayCluster) -> tuple[WorkerLog, ...]:
    """Both files of each actor that has a process here, ranks first and in order.

    A path is `<session>/logs/worker-<worker>-<job>-<pid>.out`; it starts with `:job_id:…` and `:actor_name:…`, lines for Ray.
    """
    local = [actor for actor in cluster.actors if actor.log is not None and actor.pid is not None]
    ordered = sorted(local, key=lambda actor: (actor.rank is None, actor.rank or 0, actor.pid or 0))
    return tuple(
        WorkerLog(
            f"{(actor.log or '').rpartition('.')[0]}.{stream}",
            actor.pid or 0,
            stream,
            actor.cls,
            actor.name,
            actor.rank,
            actor.job,
        )
        for actor in ordered
        for stream in ("out", "err")
    )


def far_files(cluster: RayCluster, far_logs: FarLogs) -> tuple[WorkerLog, ...]:
    """Both files of each rank whose process is on another node. They are read in this order, so many a second: ranks that stand
    out first, then by their number."""
    odd = {id(one.actor) for one in outlier_actors(cluster)}
    away = [actor for actor in cluster.actors if actor.rank is not None and actor.log is None and actor.pid is None]
    reached = (actor for actor in away if actor.ray_pid and actor.node)
    ordered = sorted(reached, key=lambda actor: (id(actor) not in odd, actor.rank or 0))
    return tuple(
        WorkerLog(log.path, actor.ray_pid or 0, log.stream, actor.cls, actor.name, actor.rank, actor.job, log)
        for actor in ordered
        for log in far_logs(cluster.session, actor)
    )


def rank_files(clusters: Sequence[RayCluster], far_logs: FarLogs = lambda session, actor: ()) -> tuple[WorkerLog, ...]:
    """The files of all ranks in the clusters of a run. None where ranks belong to several jobs: then nobody can say which of them
    are of this run, and a foreign rank in its table is worse than a poor one."""
    here = (file for cluster in clusters for file in worker_files(cluster) if file.rank is not None)
    found = (*here, *(file for cluster in clusters for file in far_files(cluster, far_logs)))
    return found[:MOST_FILES] if len({file.job for file in found}) <= 1 else ()
