"""Whose fault a crash of a run on Ray was: by the pid in Ray's own message, else by what Ray tells of its dead actors. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.logs.finding_order import came_before
from hangtop.records.log import Finding
from hangtop.records.ray.cluster import RayActor
from hangtop.records.verdict import Culprit
from hangtop.state.run_state import RunState

LOSSES, NODE_DIED = ("ray.actor_died", "ray.worker_died"), "ray.node_died"
SOON_BYTES = 65_536
"""The steps that a run may still make write no more."""


def failed_worker(state: RunState, finding: Finding) -> tuple[Culprit, ...]:
    """The worker that this message is about, else the actor with a process that died first, unless it was meant to end."""
    actors = [actor for cluster in clusters_of_run(state) for actor in cluster.actors]
    if finding.pid is not None:
        told = next((actor for actor in actors if actor.ray_pid == finding.pid), None)
        why = "Ray's message names its pid"
        return (Culprit(None, finding.pid, None, "likely", (why,)) if told is None else _culprit(told, why),)
    died = [actor for actor in actors if actor.death is not None and not actor.death.intended and actor.state == "dead"]
    known = (actor for actor in died if actor.rank is not None or actor.pid or actor.ray_pid)
    first = min(known, key=lambda actor: actor.since or 0.0, default=None)
    return () if first is None or first.death is None else (_culprit(first, first.death.cause),)


def with_lost_node(findings: Sequence[Finding], told: Sequence[Finding]) -> tuple[Finding, ...]:
    """What ended the run, with the death of a node before the loss of an actor: for some seconds calls go on that need nothing of
    the dead node's raylet, so that its death was survived only as it seems."""
    first = told[0]
    if first.id not in LOSSES or first.role == "cause":
        return tuple(told)
    before = [each for each in findings if each.id == NODE_DIED and each not in told and came_before(each, first)]
    near = [each for each in before if each.file == first.file and first.offset - each.last_offset <= SOON_BYTES]
    return (*near[-1:], *told)


def _culprit(actor: RayActor, why: str) -> Culprit:
    return Culprit(actor.rank, actor.pid or actor.ray_pid, actor.host, "likely", (f"{actor.cls}: {why}",))
