"""Rules over a run on Ray: its cluster is sick, an actor is dead, resources never come, one actor stays behind."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.common.text import clock, duration, numbered, some
from hangtop.diagnosis.facts.ray_health import OutlierActor, RayTrouble, outlier_actors, stale_since, troubles
from hangtop.diagnosis.facts.ray_pending import PendingResource, idle_holders, pending_resources, queued_tasks
from hangtop.diagnosis.members.ray_ownership import clusters_of_run, owned
from hangtop.diagnosis.members.writer_presence import nobody_writes, without_leads
from hangtop.diagnosis.rules.log_rules import only_complaints
from hangtop.diagnosis.rules.verdict_builders import hung_verdict, silence
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.ray_calls import title_of
from hangtop.diagnosis.status.ray_methods import LEADS, meaning
from hangtop.records.ray.cluster import RayActor, RayCluster
from hangtop.records.verdict import Culprit, Evidence, Verdict
from hangtop.stacks.ray_waits import ray_wait

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
    """Actors or placement groups of the run wait for resources that the cluster lacks or has given to others. The log is quiet,
    or only says that they wait. Where workers of the run work, those that wait are a queue; a driver may only look whether they
    are there.

    Stands before `starting`: what will never be granted is nearer to the cause than what is being started.
    """
    clusters = trusted_clusters(snapshot, complains=bool(only_complaints(snapshot)))
    asked = (pending_resources, queued_tasks) if calls_wait(snapshot) else (pending_resources,)
    waiting, cluster = next(((found, each) for ask in asked for each in clusters if (found := ask(each))), ((), None))
    works = any(member.alive and title_of(member.process) is not None for member in snapshot.members)
    if cluster is None or (works and not waiting[0].impossible):
        return None
    first = waiting[0]
    holders = "" if first.impossible else idle_holders(cluster, first.asked)
    return Verdict(
        word="waiting",
        headline=f"{first.who} waits for {first.asks}{': ' + first.lack if first.lack else ''}.",
        refute="a node joins, or another job frees what is asked for",
        kind="resources",
        confidence="likely" if first.impossible else "possible",
        evidence=(
            *(Evidence("ray", _pending_line(pending)) for pending in waiting[:3]),
            *((Evidence("ray", holders),) if holders else ()),
            *workers_created(snapshot),
            silence(snapshot),
        ),
        next=(("b", "bundle"),),
    )


def calls_wait(snapshot: Snapshot) -> bool:
    """Whether all that is known of the run waits for a call, or to be called: what is waited for may be a task, which no list of
    actors names before it has a worker."""
    here = [member for member in (*snapshot.members, *snapshot.aside) if member.status != "gone"]
    waits = [ray_wait(member.activity) for member in here]
    return "call" in waits and all(waits)


def actor_apart(snapshot: Snapshot) -> Verdict | None:
    """By the titles of their processes most actors of a class do one thing and a few another, and those few do not work.

    Stands before `left_out`: what an actor does is nearer to the cause than counts of collectives that all may share.
    """
    stands = {member.pid: member for member in (*snapshot.members, *snapshot.aside)}
    for cluster in trusted_clusters(snapshot):
        waits = {member.pid for member in stands.values() if ray_wait(member.activity) == "call"}  # it waits for the one to name
        apart = [odd for odd in outlier_actors(cluster) if not odd.sure and odd.actor.pid not in waits]
        known = [(odd, stands[odd.actor.pid]) for odd in apart if odd.actor.pid is not None and odd.actor.pid in stands]
        if apart and not any(member.alive for _, member in known):
            first = apart[0]
            evidence = (
                *(Evidence("ray", f"{name(odd.actor)} {odd.why}{odd.since}") for odd in apart[:2]),
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

    Stands before `call_stands`: the leader stands still, too, and the log may say for how long it waits for a teacher.
    """
    if snapshot.silence_s is None:
        return None
    for cluster in trusted_clusters(snapshot):
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


def trusted_clusters(snapshot: Snapshot, *, complains: bool = False) -> list[RayCluster]:
    """The clusters of a quiet run, or of one that only complains, if what is told of them is not old."""
    own = clusters_of_run(snapshot.state) if snapshot.is_quiet or complains else ()
    return [cluster for cluster in own if stale_since(cluster, snapshot.now) is None]


def _only_actors_here(snapshot: Snapshot) -> bool:
    """Nobody writes the log, and no process of the run is here but workers of its Ray session. A lead is no driver: Ray knows all
    of its own."""
    if snapshot.state.procs is None:
        return False
    known = without_leads(snapshot.state.procs)
    others = tuple(process for process in known.processes if process.pid not in known.of_ray)
    return nobody_writes(replace(snapshot.state, procs=replace(known, processes=others)))


def workers_created(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """How many workers there are, where the log says it."""
    if snapshot.log.workers is None or snapshot.log.workers[0] >= snapshot.log.workers[1]:
        return ()
    return (Evidence("log", f"{snapshot.log.workers[0]} of {some(snapshot.log.workers[1], 'worker')} created"),)


def sick(snapshot: Snapshot) -> Verdict | None:
    """The log is quiet, and a part of Ray that the run needs is dead or silent. Where its workers go on all the same, the run
    lives: Ray may only have stopped to pass on what they write.

    Stands before `no_resources`: a cluster that is sick grants nothing, whatever it has.
    """
    if not snapshot.is_quiet or not (found := needed_parts_sick(snapshot)):
        return None
    first = found[0]
    told = tuple(Evidence("ray", trouble.text) for trouble in found[:3])
    if not first.dead and (at_work := _at_work(snapshot)):
        return Verdict(
            word="running",
            headline=f"The workers go on, and Ray is sick: {first.text}.",
            refute="they stop",
            confidence="likely",
            evidence=(*told, *at_work[:2], *mend_evidence(first), silence(snapshot)),
            detail=_mended(first),
        )
    return Verdict(
        word="hung",
        headline=f"Ray is sick: {first.text}.",
        refute="the part answers again, and the log goes on",
        kind="dead_process" if first.dead else "stopped",
        confidence="likely",
        evidence=(*told, silence(snapshot)),
        next=(("R", first.mend),) if first.mend.startswith("R ") else (),
        detail=_mended(first),
    )


def _at_work(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """What shows that workers go on: those that write into their own files, of which a sick Ray passes nothing on, and work."""
    writing = [
        rank.rank for rank in snapshot.ranks if (own_s := rank.silence_s(snapshot.now)) is not None and own_s <= snapshot.quiet_s
    ]
    told = (Evidence("log", f"{numbered('rank', writing)} write{'s' if len(writing) == 1 else ''} on, into files of their own"),)
    working = [member for member in (*snapshot.members, *snapshot.aside) if member.alive]
    return (*(told if writing else ()), *(Evidence("stacks", f"{member.name}: {member.text}") for member in working))


def mend_evidence(trouble: RayTrouble) -> tuple[Evidence, ...]:
    """What mends it, beside a verdict that is green, which has no advice."""
    return (Evidence("ray", _mended(trouble), None),) if trouble.mend else ()


def with_sick_parts(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """A run that goes on, with what ails its Ray: it may need that part soon. Where Ray itself reported the crash, a dead part
    is the cause, and comes first."""
    said = {evidence.text for evidence in verdict.evidence}
    found = needed_parts_sick(snapshot) if verdict.word in ("running", "slow", "crashed") else ()
    told = [trouble for trouble in found if trouble.text not in said and trouble.text not in verdict.headline]
    if not told:
        return verdict
    evidence = tuple(Evidence("ray", f"Ray is sick: {trouble.text}") for trouble in told[:2]) + mend_evidence(told[0])
    verdict = replace(verdict, evidence=(*evidence, *verdict.evidence), detail=verdict.detail or _mended(told[0]))
    if verdict.word == "crashed" and told[0].dead and (verdict.message or "").startswith("ray."):
        culprits = () if told[0].part == "gcs_server" else verdict.culprits  # all that need it say so: none of them is the cause
        headline = f"Ray is sick: {told[0].text}. {verdict.headline}"
        return replace(verdict, headline=headline, culprits=culprits, detail=_mended(told[0]))
    return verdict


def needed_parts_sick(snapshot: Snapshot) -> tuple[RayTrouble, ...]:
    """What ails the parts of Ray that the run cannot do without, the root first."""
    found = (trouble for cluster in clusters_of_run(snapshot.state) for trouble in troubles(cluster, snapshot.now))
    return tuple(trouble for trouble in found if trouble.part in ("gcs_server", "raylet", "node"))


def _mended(trouble: RayTrouble) -> str:
    return f"What mends it: {trouble.mend}" if trouble.mend else ""


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
    since = f" since {'before ' if pending.since_seen else ''}{clock(pending.since)}" if pending.since is not None else ""
    return f"{pending.who} asks for {pending.asks}{since}{': ' + pending.lack if pending.lack else ''}"
