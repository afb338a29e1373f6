"""What should be looked at next? Stacks, when a run is quiet for so long that a verdict may be needed. Pure; the edges ask."""

from __future__ import annotations

from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.diagnosis.rules.gpu_rules import driver_doubted
from hangtop.diagnosis.rules.wait_rules import GROWN_S
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.ask import StacksAsk
from hangtop.stacks.loops import SPAN_S, recently, trades

AT_PART = 0.5
"""The first look comes at this part of the limit, so that the verdict is there when the limit is."""
SECOND_LOOK_S = 2.0
"""A second look this much later tells moved from still."""
AGAIN_S = 20.0
"""While the run stays quiet."""
MOST_PIDS = 64


def looks_in_this_silence(snapshot: Snapshot) -> int:
    """Finished looks since the last output: older ones tell of another moment."""
    since = snapshot.now - (snapshot.silence_s or 0.0)
    return sum(1 for look in snapshot.state.looks if look.done and look.started_at >= since)


def satisfied(snapshot: Snapshot) -> bool:
    """Nothing more to wait for before a verdict: the run is not quiet, or two looks were taken, or none can be."""
    stacks = snapshot.state.health.get("stacks")
    impossible = stacks is None or stacks.problem is not None or any(look.problem for look in snapshot.state.looks)
    if (snapshot.is_quiet and _workers_to_come(snapshot)) or _leads_to_weigh(snapshot):
        return False
    if not snapshot.is_quiet or not snapshot.pids:
        return True
    if driver_doubted(snapshot) or _may_grow(snapshot):
        return False
    return impossible or (looks_in_this_silence(snapshot) >= 2 and not _unproven(snapshot))


def _leads_to_weigh(snapshot: Snapshot) -> bool:
    """Processes may be the run, and whether the log tells of them was asked before it had been read to its end."""
    return bool(snapshot.procs.leads) and not snapshot.procs.weighed and snapshot.log.caught_up


def _workers_to_come(snapshot: Snapshot) -> bool:
    """A run on Ray lives in its workers. The Ray source tells its session, and then the process source tells its workers."""
    health = snapshot.state.health.get("ray")
    if snapshot.log.ray is None or health is None:
        return False
    actors = (actor for cluster in clusters_of_run(snapshot.state) for actor in cluster.actors)
    here = {actor.pid for actor in actors if actor.pid is not None and actor.has_process}
    seen = {process.pid for process in snapshot.procs.processes}
    return not health.told or bool(here and not here & seen)


def _unproven(snapshot: Snapshot) -> bool:
    """Whether a member waits for the network and was not watched for long enough to tell whether answers still come."""
    waits = (member.process for member in snapshot.members if member.status == "waits" and trades(member.activity))
    return any(recently(process).seconds < SPAN_S for process in waits)


def _may_grow(snapshot: Snapshot) -> bool:
    """A file of a checkpoint was written lately, and one look at it cannot tell whether that goes on."""
    saved = snapshot.state.checkpoints
    if saved is None or saved.growth_b_s is not None or saved.modified_at is None:
        return False
    return snapshot.now - saved.modified_at <= GROWN_S


def stack_request(snapshot: Snapshot) -> StacksAsk | None:
    """The stacks to ask for now, or none. A dump never stops the run, and costs some 40 ms of one core a process."""
    if snapshot.silence_s is None or snapshot.silence_s < AT_PART * snapshot.quiet_s or not snapshot.pids:
        return None
    looks = snapshot.state.looks
    if looks and looks[-1].started_at > 0:
        pause_s = SECOND_LOOK_S if looks_in_this_silence(snapshot) < 2 else AGAIN_S
        if snapshot.now - looks[-1].started_at < pause_s:
            return None
    return StacksAsk(ask=int(snapshot.now * 1000), pids=snapshot.pids[:MOST_PIDS])
