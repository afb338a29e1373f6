"""The rule over trainers that wait for data: are their workers at work, idle, or dead?"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hangtop.common.text import every, some
from hangtop.diagnosis.rules.loop_suspects import suspects_of_loader
from hangtop.diagnosis.rules.other_end_rules import may_be_answered
from hangtop.diagnosis.rules.verdict_builders import (
    build_culprits,
    helper_of,
    hung_verdict,
    names,
    plural_s,
    silence,
    slow_verdict,
    stack_evidence,
)
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import with_waits
from hangtop.diagnosis.status.member_status import MemberStatus, status_of
from hangtop.records.process import Process
from hangtop.records.verdict import Evidence, Verdict
from hangtop.stacks.activity import activity_of


def dataloader(snapshot: Snapshot) -> Verdict | None:
    """A rank waits for its data workers: do they work, idle, or have they died?

    Stands before `straggler`: a rank that waits for data is not to blame while its workers work.
    """
    waiting = [member for member in snapshot.members if member.status == "dataloader"]
    if not snapshot.is_quiet or not waiting or any(member.alive for member in snapshot.members):
        return None
    pids = {member.pid for member in waiting}
    everyone = [each for each in snapshot.procs.processes if each.role == "data worker" and each.ppid in pids]
    statuses = (status_of(snapshot.state, worker, patient=snapshot.patient) for worker in everyone)
    stands = with_waits(snapshot.state, statuses, snapshot.pause_s)
    if busy := [worker for worker in stands if worker.alive]:
        at_work = (Evidence("procs", f"{some(len(busy), 'data worker')} of {len(everyone)} at work"),)
        suspects = suspects_of_loader(busy, len(everyone))
        time_tells = f": pid {busy[0].pid} {busy[0].text}. That is work, or a loop without end: time tells." if suspects else "."
        headline = f"{names(waiting)} wait{plural_s(waiting)} for data, and the loader works{time_tells}"
        return replace(slow_verdict(snapshot, headline, "dataloader", at_work), culprits=suspects)
    far = [worker for worker in stands if worker.side is not None and worker.side.kind == "unseen"]
    if far and (unsure := may_be_answered(snapshot, far, waiting, "dataloader")) is not None:
        return unsure
    stuck = [worker for worker in stands if worker.does not in (None, "idle", "loader_worker")]
    some_idle = f"{some(len(everyone) - len(stuck), 'data worker')} of {len(everyone)} idle"
    all_idle = f"{every(len(everyone), 'data worker')} idle" if everyone else "no data worker is left"
    idle = some_idle if 0 < len(stuck) < len(everyone) else all_idle
    what = "" if not everyone else _worker_place(snapshot, everyone)
    headline = f"{names(waiting)} wait{plural_s(waiting)} for data that never comes: {idle}{what}."
    evidence = (stack_evidence(waiting), Evidence("procs", idle), silence(snapshot))
    helpers = [pid for worker in stands if worker.does != "loader_worker" and (pid := helper_of(snapshot, worker)) is not None]
    helpers = helpers or ([stuck[0].pid] if len(stuck) == 1 or _stand_alike(stuck, everyone) else [])
    culprits = build_culprits(snapshot, waiting)
    if len(culprits) == 1 and helpers:
        culprits = (replace(culprits[0], pid=helpers[0]),)
    return hung_verdict(headline, "dataloader", culprits, evidence, "a data worker uses CPU")


def _stand_alike(stuck: Sequence[MemberStatus], everyone: Sequence[Process]) -> bool:
    """Whether all data workers stand at one line of the program's own code: each is as much to blame, and the trainer only
    waits."""
    places = {(worker.does, worker.activity.where if worker.activity is not None else None) for worker in stuck}
    return len(stuck) == len(everyone) and len(places) == 1 and None not in {where for _, where in places}


def _worker_place(snapshot: Snapshot, workers: list[Process]) -> str:
    """Where the workers stand, when their stacks are known."""
    pids = {worker.pid for worker in workers}
    stacks = (stack for look in reversed(snapshot.state.looks) for stack in look.stacks if stack.pid in pids)
    seen = ((stack.pid, known) for stack in stacks if (known := activity_of(stack)) and known.kind != "loader_worker")
    return next((f", pid {pid} {known.text} ({known.where})" for pid, known in seen), "")
