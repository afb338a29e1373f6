"""Rules over the calls of a run on Ray: which one never returns, and who waits for it?"""

from __future__ import annotations

from hangtop.common.text import some
from hangtop.diagnosis.rules.ray_rules import name, trusted_clusters
from hangtop.diagnosis.rules.verdict_builders import (
    as_culprits,
    build_culprits,
    hung_verdict,
    names,
    plural_s,
    silence,
    slow_verdict,
    stage_kind,
    still,
)
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.member_status import CPU_PERCENT, MemberStatus
from hangtop.diagnosis.status.ray_calls import at_work_elsewhere, method_of, title_of
from hangtop.records.ray.cluster import RayActor
from hangtop.records.verdict import Evidence, Kind, Verdict
from hangtop.stacks.ray_waits import queue_wait, ray_wait

CALLS_NOBODY = frozenset({"idle", "dead", "gone", "zombie"})
"""States of an actor in which no call of it runs."""


def call_stands(snapshot: Snapshot) -> Verdict | None:
    """Calls of Ray run on a few workers, all of which stand still, while the others idle or wait for their answer. They are the
    culprits, unless all workers of a class stand so: then they may wait for anything.

    Stands before `actor_apart`: a stack tells the line where a worker stands, a title only the method.
    """
    here = [member for member in snapshot.members if member.status != "gone"]
    callers = [member for member in snapshot.aside if ray_wait(member.activity) == "call"]
    idle = [member for member in snapshot.aside if ray_wait(member.activity) == "idle"]
    if not snapshot.is_quiet or not here or not (callers or idle) or not all(map(_stands, here)):
        return None
    if all(ray_wait(member.activity) == "call" for member in here) and _called_elsewhere(snapshot) is not None:
        return None
    idle_classes = {_class_of(member) for member in idle}
    apart = here if len(here) == 1 or all(_class_of(member) in idle_classes for member in here) else []
    looping = all(member.status == "loops" for member in here)
    kind: Kind = "python_loop" if looping else stage_kind(snapshot) or "unknown"
    first = _sentence(here[0])
    headline = f"{first}, and nothing moves." if len(here) == 1 else f"{names(here)} stand still; {first}."
    evidence = [Evidence("stacks", f"{member.name}: {member.text}{still(member)}") for member in here[:2]]
    beside = (
        (f"{callers[0].name}: {callers[0].text}" if callers else ""),
        f"{some(len(idle), 'worker')} between calls" if idle else "",
    )
    evidence += [Evidence("stacks", text) for text in beside if text]
    refute = f"{here[0].name} returns from {method_of(here[0]) or 'this place'}"
    return hung_verdict(headline, kind, build_culprits(snapshot, apart), (*evidence, silence(snapshot)), refute)


def works_elsewhere(snapshot: Snapshot) -> Verdict | None:
    """Calls run on other nodes only, and their agents tell that they take CPU time. That is work, or a wait that spins: it counts
    as long as a loop would.

    Stands before `vanished`: what is waited for runs elsewhere.
    """
    busy = [actor for actor in at_work_elsewhere(snapshot.state) if (actor.cpu_percent or 0.0) > CPU_PERCENT]
    callers = [member for member in snapshot.aside if ray_wait(member.activity) == "call"]
    if not busy or not callers or snapshot.members or not snapshot.patient or not trusted_clusters(snapshot):
        return None
    told = tuple(Evidence("ray", f"{name(actor)} on {actor.host}: {actor.cpu_percent:.0f} % CPU") for actor in busy[:2])
    first = f"{name(busy[0])} on {busy[0].host} is at work{f' in {busy[0].method}' if busy[0].method else ''}"
    return slow_verdict(snapshot, f"{first}. That is work, or a loop without end: time tells.", None, told)


def queue_stands(snapshot: Snapshot) -> Verdict | None:
    """Members wait for room in a queue of Ray, or for an item, while no call runs anywhere: nobody will take or put one. The
    culprits are those at the queue: the others wait for them, and the actor behind it only keeps the items.

    Stands before `call_stands`: what a wait at a queue waits for is known, and it is no worker.
    """
    here = [member for member in snapshot.members if member.status != "gone"]
    waits = all(ray_wait(member.activity) == "call" and member.moved is False for member in here)
    at_queue = [member for member in here if queue_wait(member.activity) is not None]
    if not snapshot.is_quiet or not at_queue or not waits or at_work_elsewhere(snapshot.state):
        return None
    puts = all(queue_wait(member.activity) == "put" for member in at_queue)
    others = [member for member in here if member not in at_queue]
    evidence = tuple(
        Evidence("stacks", f"{member.name}: {member.text}{still(member)}") for member in (*at_queue[:2], *others[:1])
    )
    wanted = "room in a queue of Ray that nobody empties" if puts else "an item in a queue of Ray that nobody fills"
    headline = f"{names(at_queue)} wait{plural_s(at_queue)} for {wanted}, and no call runs."
    refute = "something is taken from the queue" if puts else "something is put into the queue"
    return hung_verdict(headline, "unknown", as_culprits(at_queue, "possible"), (*evidence, silence(snapshot)), refute)


def calls_in_a_ring(snapshot: Snapshot) -> Verdict | None:
    """All workers of Ray that have a call wait for another call, and none of the calls runs: they wait for each other; one alone
    waits for a call that stands behind its own. Only where all of the run's workers are on this machine: one elsewhere might run
    a call. So may a named actor of another job in the same cluster: while one does, only the silence is told.

    Stands before `standing_still`: that they all wait for calls tells why nobody moves.
    """
    here = [member for member in snapshot.members if member.status != "gone"]
    workers = [member for member in here if title_of(member.process) is not None]
    waits = all(ray_wait(member.activity) == "call" and member.moved is False for member in here)
    if not snapshot.is_quiet or not workers or not waits:
        return None
    first = f"{workers[0].name} {workers[0].text}"
    if (other := _called_elsewhere(snapshot)) is not None:
        stands = (Evidence("stacks", f"{workers[0].name}: {workers[0].text}{still(workers[0])}"), silence(snapshot))
        headline = f"{first}; {name(other)}, of another job in this cluster, may run what it waits for."
        return Verdict("stalled", headline, "that call returns", kind="unknown", confidence="possible", evidence=stands)
    if not _all_here(snapshot):
        return None
    if len(workers) == 1:
        headline = f"{first}, and no other worker of Ray runs a call: what it waits for stands behind its own call."
        evidence = (Evidence("stacks", f"{workers[0].name}: {workers[0].text}{still(workers[0])}"), silence(snapshot))
        return hung_verdict(headline, "unknown", as_culprits(workers, "possible"), evidence, "that call returns")
    headline = f"{some(len(workers), 'worker')} of Ray wait for each other's calls, and no call runs; {first}."
    told = tuple(Evidence("stacks", f"{member.name}: {member.text}{still(member)}") for member in workers[:3])
    culprits = as_culprits(workers, "possible") if len(workers) == 2 else ()
    return hung_verdict(headline, "unknown", culprits, (*told, silence(snapshot)), "one of the calls returns")


def _all_here(snapshot: Snapshot) -> bool:
    """Whether every actor of the run has its process on this machine, as far as what Ray tells can be trusted."""
    clusters = trusted_clusters(snapshot)
    actors = [actor for cluster in clusters for actor in cluster.actors if actor.state != "dead"]
    return bool(actors) and all(actor.pid is not None for actor in actors)


def _called_elsewhere(snapshot: Snapshot) -> RayActor | None:
    """An actor in a cluster of the run that is none of its members, and runs a call or may: whoever knows its name may have
    called it."""
    own = {member.pid for member in (*snapshot.members, *snapshot.aside, *snapshot.beside)}
    sessions = {cluster.session for cluster in trusted_clusters(snapshot)}
    clusters = (cluster for reading in snapshot.state.ray.values() for cluster in reading.clusters)
    actors = (actor for cluster in clusters if cluster.session in sessions for actor in cluster.actors)
    return next((actor for actor in actors if actor.pid not in own and actor.state not in CALLS_NOBODY), None)


def _stands(member: MemberStatus) -> bool:
    return member.status == "loops" or (member.status == "waits" and member.moved is False)


def _class_of(member: MemberStatus) -> str:
    title = title_of(member.process)
    return title.cls if title is not None else ""


def _sentence(member: MemberStatus) -> str:
    """`Rank 2, in Worker.update: waits for a lock in update (job.py:31)`."""
    method = method_of(member)
    return f"{names([member])}{f', in {method}' if method else ''}: {member.text}"
