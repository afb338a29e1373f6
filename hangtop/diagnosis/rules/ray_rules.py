"""Rules over a run on Ray: its cluster is sick, an actor is dead, resources never come, one actor stays behind."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.common.text import clock, duration, some
from hangtop.diagnosis.facts.ray_health import OutlierActor, outlier_actors, stale_since, troubles
from hangtop.diagnosis.facts.ray_pending import PendingResource, pending_resources
from hangtop.diagnosis.members.ray_ownership import clusters_of_run, owned
from hangtop.diagnosis.members.writer_presence import nobody_writes, without_leads
from hangtop.diagnosis.rules.verdict_builders import hung_verdict, silence
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.ray_methods import LEADS, meaning
from hangtop.records.ray.cluster import RayActor, RayCluster
from hangtop.records.verdict import Culprit, Evidence, Verdict

MOST_CULPRITS = 16


def dead_actor(snapshot: Snapshot) -> Verdict | None:
    """The log is quiet, and an actor of the run or its process is dead. The others wait for it.

    Stands before `sick`: an actor that died with an error is nearer to the cause than a part of Ray.
    """
    if not snapshot.is_quiet:
        return None
    recent_from = snapshot.now - (snapshot.silence_s or 0.0) - snapshot.quiet_s  # one that died long before did not stop the run
    for cluster in clusters_of_run(snapshot.state):
        dead = (odd for odd in outlier_actors(cluster) if not odd.actor.has_process)
        left = [odd for odd in dead if odd.actor.since is None or odd.actor.since > recent_from]
        if left:
            first = min(left, key=lambda odd: odd.actor.since or 0.0)
            death, old_since = first.actor.death, stale_since(cluster, snapshot.now)
            told = (f"{name(first.actor)} {first.why}", *(death.traceback if death else ()))
            doubt = () if old_since is None else (Evidence("ray", f"what Ray tells is as of {clock(old_since)}", None),)
            return Verdict(
                word="hung",
                headline=f"{name(first.actor)}: {first.why}.",
                refute="Ray starts the actor again, and the log goes on",
                kind="dead_process",
                confidence="likely",
                culprits=tuple(_culprit(odd) for odd in left[:MOST_CULPRITS]),
                evidence=(*(Evidence("ray", line) for line in told[:3]), *doubt, silence(snapshot)),
                next=(("b", "bundle"), ("r", "restart")),
            )
    return None


def no_resources(snapshot: Snapshot) -> Verdict | None:
    """Actors or placement groups of the run wait for resources that the cluster lacks or has given to others.

    Stands before `leader_alone`: workers that were never started leave their leader alone.
    """
    waiting = next(filter(None, map(pending_resources, _trusted(snapshot))), ())
    if not waiting:
        return None
    first = waiting[0]
    return Verdict(
        word="waiting",
        headline=f"{first.who} waits for {first.asks}{': ' + first.lack if first.lack else ''}.",
        refute="a node joins, or another job frees what is asked for",
        kind="resources",
        confidence="likely" if first.impossible else "possible",
        evidence=(
            *(Evidence("ray", _pending_line(pending)) for pending in waiting[:3]),
            *_created(snapshot),
            silence(snapshot),
        ),
        next=(("b", "bundle"),),
    )


def actor_apart(snapshot: Snapshot) -> Verdict | None:
    """By the titles of their processes most actors of a class do one thing and a few another, and those few do not work.

    Stands before `leader_alone`: a worker apart from its peers is looked at before the one that calls them all.
    """
    stands = {member.pid: member for member in snapshot.members}
    for cluster in _trusted(snapshot):
        apart = [odd for odd in outlier_actors(cluster) if not odd.sure]
        known = [(odd, stands[odd.actor.pid]) for odd in apart if odd.actor.pid is not None and odd.actor.pid in stands]
        if apart and not any(member.alive for _, member in known):
            first = apart[0]
            evidence = (
                *(Evidence("ray", f"{name(odd.actor)} {odd.why}") for odd in apart[:2]),
                *(
                    Evidence("stacks", f"{name(odd.actor)}: {member.text}")
                    for odd, member in known[:2]
                    if member.activity is not None
                ),
                silence(snapshot),
            )
            culprits = tuple(_culprit(odd, sure=len(apart) == 1) for odd in apart[:MOST_CULPRITS])
            refute = f"{name(first.actor)} goes on to another method"
            return hung_verdict(f"{name(first.actor)} is {first.why}.", "unknown", culprits, evidence, refute)
    return None


def leader_alone(snapshot: Snapshot) -> Verdict | None:
    """All workers are between calls, and the actor that calls them does not come back: it waits for something that is no
    actor. Users report rewards, tools, judges and teachers that do not answer (verl#288, #1948, #7155, slime#1361).

    Stands before `standing_still`: the leader stands still, too, and its idle workers tell what it waits for.
    """
    if snapshot.silence_s is None:
        return None
    for cluster in _trusted(snapshot):
        running = (
            (actor, meaning(actor.cls, actor.method or ""))
            for actor in cluster.actors
            if actor.state == "running" and actor.method
        )
        leaders = [actor for actor, known in running if known is not None and known.says == LEADS]
        workers = [actor for actor in cluster.actors if actor.state != "dead" and actor not in leaders]
        if len(leaders) != 1 or not workers or any(actor.state != "idle" for actor in workers):
            continue
        leader, patience_s = leaders[0], snapshot.log.teacher_wait_s
        patient = snapshot.silence_s <= patience_s
        waits = "the teacher server" if patience_s else "what is no actor: a reward, a tool, a judge, or its own code"
        told = f"; its client gives up after {duration(patience_s)} and skips the batch" if patient else ""
        return Verdict(
            word="slow" if patient else "hung",
            headline=f"{name(leader)} alone is at work, in {leader.method}: it waits for {waits}{told}.",
            refute="a worker is called again, and the log goes on",
            kind=None if patient else "unknown",
            confidence="possible" if patient else "likely",
            culprits=()
            if patient
            else (_culprit(OutlierActor(leader, f"in {leader.method} while no worker is called"), sure=False),),
            evidence=(Evidence("ray", f"{some(len(workers), 'worker')} between calls, none at work"), silence(snapshot)),
            next=(("s", "stacks"),),
        )
    return None


def driver_gone(snapshot: Snapshot) -> Verdict | None:
    """Nobody writes the log, and the run's Ray session has no driver of its jobs any more: the run is over. Detached actors
    outlive their driver and hold its GPUs; they are no sign of life.

    Stands before `dead`: actors that outlive their driver are no ranks that were left alone.
    """
    if not snapshot.is_quiet or not _only_actors_here(snapshot):
        return None
    for session in owned(snapshot.state):
        cluster, jobs = session.cluster, session.jobs
        told = cluster.api.answer == "ok" and stale_since(cluster, snapshot.now) is None and any(n.workers for n in cluster.nodes)
        if not told or not jobs or any(driver.job in jobs for driver in cluster.drivers):
            continue
        alive = [actor for actor in cluster.actors if actor.has_process]
        left = (
            f"{some(len(alive), 'actor')} of its job {'lives' if len(alive) == 1 else 'live'} on" if alive else "its actors, too"
        )
        return Verdict(
            word="crashed",
            headline=f"The driver is gone; {left}.",
            refute="the driver runs elsewhere, and Ray has lost sight of it",
            kind="dead_process",
            confidence="likely",
            evidence=(
                Evidence("ray", f"no driver of job {', '.join(sorted(jobs))} any more; {session.fact}"),
                silence(snapshot),
            ),
            next=(("b", "bundle"), ("r", "restart")),
        )
    return None


def _trusted(snapshot: Snapshot) -> list[RayCluster]:
    """The clusters of a quiet run, if what is told of them is not old."""
    own = clusters_of_run(snapshot.state) if snapshot.is_quiet else ()
    return [cluster for cluster in own if stale_since(cluster, snapshot.now) is None]


def _only_actors_here(snapshot: Snapshot) -> bool:
    """Nobody writes the log, and no process of the run is here but workers of its Ray session. A lead is no driver: Ray knows all
    of its own."""
    if snapshot.state.procs is None:
        return False
    known = without_leads(snapshot.state.procs)
    others = tuple(process for process in known.processes if process.pid not in known.of_ray)
    return nobody_writes(replace(snapshot.state, procs=replace(known, processes=others)))


def _created(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """How many workers there are, where the log says it."""
    if snapshot.log.workers is None or snapshot.log.workers[0] >= snapshot.log.workers[1]:
        return ()
    return (Evidence("log", f"{snapshot.log.workers[0]} of {some(snapshot.log.workers[1], 'worker')} created"),)


def sick(snapshot: Snapshot) -> Verdict | None:
    """The log is quiet, and a part of Ray that the run needs is dead or silent.

    Stands before `no_resources`: a cluster that is sick grants nothing, whatever it has.
    """
    if not snapshot.is_quiet:
        return None
    for cluster in clusters_of_run(snapshot.state):
        found = [trouble for trouble in troubles(cluster, snapshot.now) if trouble.part in ("gcs_server", "raylet", "node")]
        if found:
            return Verdict(
                word="hung",
                headline=f"Ray is sick: {found[0].text}.",
                refute="the part answers again, and the log goes on",
                kind="dead_process" if found[0].dead else "stopped",
                confidence="likely",
                evidence=(*(Evidence("ray", trouble.text) for trouble in found[:3]), silence(snapshot)),
                next=(("R", found[0].mend),) if found[0].mend.startswith("R ") else (),
            )
    return None


def name(actor: RayActor) -> str:
    """`WorkerDict rank 3`, `TaskRunner task_runner`, `LLMServer pid 812`."""
    if actor.rank is not None:
        return f"{actor.cls} rank {actor.rank}"
    if actor.name:
        return f"{actor.cls} {actor.name}"
    return f"{actor.cls} pid {actor.pid or actor.ray_pid}" if actor.pid or actor.ray_pid else actor.cls


def _culprit(odd: OutlierActor, *, sure: bool = True) -> Culprit:
    actor = odd.actor
    return Culprit(actor.rank, actor.pid or actor.ray_pid, actor.host, "likely" if sure else "possible", (odd.why,))


def _pending_line(pending: PendingResource) -> str:
    since = f" since {clock(pending.since)}" if pending.since is not None else ""
    return f"{pending.who} asks for {pending.asks}{since}{': ' + pending.lack if pending.lack else ''}"
