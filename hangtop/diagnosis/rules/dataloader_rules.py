"""The rule over trainers that wait for data: are their workers at work, idle, or dead?"""

from __future__ import annotations

from hangtop.common.text import every, some
from hangtop.diagnosis.rules.verdict_builders import (
    build_culprit,
    hung_verdict,
    names,
    plural_s,
    silence,
    slow_verdict,
    stack_evidence,
)
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.member_status import MemberStatus, status_of
from hangtop.records.process import Process
from hangtop.records.verdict import Evidence, Verdict
from hangtop.stacks.activity import activity_of


def dataloader(snapshot: Snapshot) -> Verdict | None:
    """A rank waits for its data workers: do they work, idle, or have they died?

    Stands before `straggler`: a rank that waits for data is not to blame while its workers work.
    """
    waiting = [member for member in snapshot.member_statuses if member.status == "dataloader"]
    if not snapshot.is_quiet or not waiting or any(member.alive for member in snapshot.member_statuses):
        return None
    workers = {member.pid: _workers(snapshot, member) for member in waiting}
    everyone = [worker for below in workers.values() for worker in below]
    if busy := [worker for worker in everyone if status_of(snapshot.state, worker, patient=snapshot.patient).alive]:
        text = f"{some(len(busy), 'data worker')} of {len(everyone)} at work"
        return slow_verdict(
            snapshot,
            f"{names(waiting)} wait{plural_s(waiting)} for data, and the loader works.",
            "dataloader",
            (Evidence("procs", text),),
        )
    idle = f"{every(len(everyone), 'data worker')} idle" if everyone else "no data worker is left"
    what = "" if not everyone else _worker_place(snapshot, everyone)
    headline = f"{names(waiting)} wait{plural_s(waiting)} for data that never comes: {idle}{what}."
    culprits = tuple(build_culprit(snapshot, member) for member in waiting)
    return hung_verdict(
        headline,
        "dataloader",
        culprits,
        (stack_evidence(waiting), Evidence("procs", idle), silence(snapshot)),
        "a data worker uses CPU",
    )


def _workers(snapshot: Snapshot, trainer: MemberStatus) -> list[Process]:
    processes = () if snapshot.procs is None else snapshot.procs.processes
    return [process for process in processes if process.role == "data worker" and process.ppid == trainer.pid]


def _worker_place(snapshot: Snapshot, workers: list[Process]) -> str:
    """Where the workers stand, when their stacks are known."""
    pids = {worker.pid for worker in workers}
    for look in reversed(snapshot.state.looks):
        for stack in look.stacks:
            if stack.pid in pids and (known := activity_of(stack)) is not None and known.kind != "loader_worker":
                return f", pid {stack.pid} {known.text} ({known.where})"
    return ""


def dead_workers(snapshot: Snapshot, parent: MemberStatus) -> list[Process]:
    """Children of a member that waits for a batch, dead and not asked for: nobody noticed their exit. Who failed comes first."""
    if parent.activity is None or parent.activity.kind not in ("queue", "dataloader", "pipe") or snapshot.procs is None:
        return []
    dead = (process for process in snapshot.procs.processes if process.ppid == parent.pid and process.state in "ZX")
    return sorted(dead, key=lambda process: process.exit_code == 0)
