"""The output files of a cluster's workers, with the progress of each rank, which Ray's deduplicated driver log lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hangtop.diagnosis.facts.ray_health import outlier_actors
from hangtop.probe.ray.dashboard.node_logs import STREAMS, RemoteLog
from hangtop.records.ray.cluster import RayCluster

if TYPE_CHECKING:  # the first picture of a log does not wait for what asks clusters
    from hangtop.probe.ray.cluster import Cluster

MOST_FILES = 512
"""Two for each of the first 256 ranks."""


class WorkerLog(Struct, frozen=True):
    """An output file of a rank. `far`: it is on another node."""

    path: str
    rank: int | None
    job: str | None
    far: RemoteLog | None = None


def rank_files(clusters: Sequence[RayCluster], access: Mapping[str, Cluster]) -> tuple[WorkerLog, ...]:
    """The files of all ranks in the clusters of a run. None if ranks belong to several jobs: then the run's own ranks cannot be
    told, and a foreign rank in the table is worse than none. `access`: clusters by session, for the files on other nodes."""
    here = (file for cluster in clusters for file in worker_files(cluster))
    far = (file for cluster in clusters if (asked := access.get(cluster.session)) for file in far_files(cluster, asked))
    found = (*here, *far)
    return found[:MOST_FILES] if len({file.job for file in found}) <= 1 else ()


def worker_files(cluster: RayCluster) -> tuple[WorkerLog, ...]:
    """Both files of each rank that has a process here, in order.

    A path is `<session>/logs/worker-<worker>-<job>-<pid>.out`; it starts with `:job_id:…` and `:actor_name:…`, lines for Ray.
    """
    local = [actor for actor in cluster.actors if actor.rank is not None and actor.log is not None and actor.pid is not None]
    return tuple(
        WorkerLog(f"{(actor.log or '').rpartition('.')[0]}.{stream}", actor.rank, actor.job)
        for actor in sorted(local, key=lambda actor: (actor.rank or 0, actor.pid or 0))
        for stream in STREAMS
    )


def far_files(cluster: RayCluster, asked: Cluster) -> tuple[WorkerLog, ...]:
    """Both files of each rank on another node, in the order in which they are read: unusual ranks first, then by number."""
    odd = {id(outlier.actor) for outlier in outlier_actors(cluster)}
    away = [actor for actor in cluster.actors if actor.rank is not None and actor.log is None and actor.pid is None]
    return tuple(
        WorkerLog(log.path, actor.rank, actor.job, log)
        for actor in sorted(away, key=lambda actor: (id(actor) not in odd, actor.rank or 0))
        if actor.ray_pid and actor.node and actor.id
        for log in asked.far_logs(actor.id)
    )
