"""Rules over workers of Ray that have not come up yet, though what they ask for is free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hangtop.common.text import clock, some
from hangtop.diagnosis.facts.ray_pending import starting_actors
from hangtop.diagnosis.rules.ray_rules import calls_wait, trusted_clusters, workers_created
from hangtop.diagnosis.rules.verdict_builders import silence
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.ray.cluster import RayActor, RayCluster
from hangtop.records.verdict import Evidence, Verdict

REGISTERS_S = 60.0
"""How long Ray itself gives a worker to come up (`worker_register_timeout_seconds`, ray_config_def.h)."""


def starting(snapshot: Snapshot) -> Verdict | None:
    """Actors have the resources that they ask for, and no process yet: Ray starts workers, or makes their runtime environment.
    That goes on while new processes come, or those that are being started take CPU time. So it does where calls wait and none
    runs: a task has no worker before.

    Stands before `announced`: what Ray starts is seen, whatever the log announced.
    """
    for cluster in trusted_clusters(snapshot):
        if waiting := starting_actors(cluster):
            return _verdict(snapshot, cluster, waiting)
        if calls_wait(snapshot) and _goes_on(snapshot, cluster.starting_at):
            return Verdict(
                word="slow",
                headline="Calls of Ray wait, none runs yet, and worker processes are being started.",
                refute="no new process comes",
                confidence="possible",
                evidence=(Evidence("ray", f"what Ray starts moved last at {clock(cluster.starting_at)}"), silence(snapshot)),
                next=(("f", "follow"),),
            )
    return None


def _goes_on(snapshot: Snapshot, moved_at: float | None) -> bool:
    return moved_at is not None and snapshot.now - moved_at <= max(REGISTERS_S, snapshot.quiet_s)


def _verdict(snapshot: Snapshot, cluster: RayCluster, waiting: Sequence[RayActor]) -> Verdict:
    moved_at = _moved_at(cluster, waiting)
    goes_on = _goes_on(snapshot, moved_at)
    what = "they are being started" if goes_on else "none came up for long, though what they ask for is free"
    moved = "nothing that Ray starts was seen to move" if moved_at is None else f"what Ray starts moved last at {clock(moved_at)}"
    standstill = () if goes_on else (Evidence("ray", moved),)
    logs = "runtime_env_setup-*.log, raylet.out and gcs_server.out"
    return Verdict(
        word="slow" if goes_on else "waiting",
        headline=f"{_counted(waiting)} wait{'s' if len(waiting) == 1 else ''} for worker processes: {what}.",
        refute="no new process comes" if goes_on else "a worker process comes",
        kind=None if goes_on else "unknown",
        confidence="likely" if goes_on else "possible",
        evidence=(Evidence("ray", _up(cluster, waiting)), *standstill, *workers_created(snapshot), silence(snapshot)),
        detail="" if goes_on or not cluster.folder else f"Why stands in {cluster.folder}/logs: {logs}",
        next=(("b", "bundle"),),
    )


def _moved_at(cluster: RayCluster, waiting: Sequence[RayActor]) -> float | None:
    """When the last of these was asked for, a worker came up, or one that is being started was seen to move."""
    born = (actor.started_at for actor in cluster.actors if actor.has_process)
    asked = (actor.since for actor in waiting if not actor.since_seen)
    return max((at for at in (cluster.starting_at, *born, *asked) if at is not None), default=None)


def _counted(actors: Sequence[RayActor]) -> str:
    """`WorkerDict ×3, Critic`."""
    classes = Counter(actor.cls for actor in actors)
    return ", ".join(cls if count == 1 else f"{cls} ×{count}" for cls, count in classes.most_common(3))


def _up(cluster: RayCluster, waiting: Sequence[RayActor]) -> str:
    """`16 of 32 actors like these have a process`."""
    classes = {actor.cls for actor in waiting}
    alike = [actor for actor in cluster.actors if actor.cls in classes and actor.state != "dead"]
    return f"{len(alike) - len(waiting)} of {some(len(alike), 'actor')} of this kind have a process"
