"""What should be looked at next? Stacks, when a run is quiet for so long that a verdict may be needed. Pure; the edges ask."""

from __future__ import annotations

from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.diagnosis.rules.gpu_rules import driver_doubted
from hangtop.diagnosis.rules.wait_rules import GROWN_S
from hangtop.diagnosis.snapshot import Case
from hangtop.records.ask import StacksAsk
from hangtop.stacks.loops import SPAN_S, trades

AT_PART = 0.5
"""The first look comes at this part of the limit, so that the verdict is there when the limit is."""
SECOND_LOOK_S = 2.0
"""A second look this much later tells moved from still."""
AGAIN_S = 20.0
"""While the run stays quiet."""
MOST_PIDS = 64
GONE = frozenset(("dead", "gone", "zombie"))
"""States of actors without a living process."""


def looks_in_this_silence(case: Case) -> int:
    """Finished looks since the last output: older ones tell of another moment."""
    since = case.now - (case.silence_s or 0.0)
    return sum(1 for look in case.state.looks if look.done and look.started_at >= since)


def satisfied(case: Case) -> bool:
    """Nothing more to wait for before a verdict: the run is not quiet, or two looks were taken, or none can be."""
    stacks = case.state.health.get("stacks")
    impossible = stacks is None or stacks.problem is not None or any(look.problem for look in case.state.looks)
    if (case.is_quiet and _workers_to_come(case)) or _leads_to_weigh(case):
        return False
    if not case.is_quiet or not case.pids:
        return True
    if driver_doubted(case) or _may_grow(case):
        return False
    return impossible or (looks_in_this_silence(case) >= 2 and not _unproven(case))


def _leads_to_weigh(case: Case) -> bool:
    """Processes may be the run, and whether the log tells of them was asked before it had been read to its end."""
    return case.procs is not None and bool(case.procs.leads) and not case.procs.weighed and case.log.caught_up


def _workers_to_come(case: Case) -> bool:
    """A run on Ray lives in its workers: whose session it is the Ray source tells, and then the process source who they are."""
    health = case.state.health.get("ray")
    if case.log.ray is None or health is None:
        return False
    actors = (actor for cluster in clusters_of_run(case.state) for actor in cluster.actors)
    here = {actor.pid for actor in actors if actor.pid is not None and actor.state not in GONE}
    seen = {process.pid for process in case.procs.processes} if case.procs is not None else set()
    return not health.told or bool(here and not here & seen)


def _unproven(case: Case) -> bool:
    """Somebody waits for the network, and was not watched for long enough to tell whether answers still come."""
    waits = (one.process for one in case.standings if one.how == "waits" and trades(one.doing))
    return any(process is None or process.recent is None or process.recent.seconds < SPAN_S for process in waits)


def _may_grow(case: Case) -> bool:
    """A file of a checkpoint was written lately, and one look at it cannot tell whether that goes on."""
    saved = case.state.checkpoints
    if saved is None or saved.growth_b_s is not None or saved.modified_at is None:
        return False
    return case.now - saved.modified_at <= GROWN_S


def wish(case: Case) -> StacksAsk | None:
    """The stacks to ask for now, or none. Dumps never stop the run, and cost some 40 ms of one core a process."""
    if case.silence_s is None or case.silence_s < AT_PART * case.quiet_s or not case.pids:
        return None
    looks = case.state.looks
    if looks and looks[-1].started_at > 0:
        pause_s = SECOND_LOOK_S if looks_in_this_silence(case) < 2 else AGAIN_S
        if case.now - looks[-1].started_at < pause_s:
            return None
    return StacksAsk(ask=int(case.now * 1000), pids=case.pids[:MOST_PIDS])
