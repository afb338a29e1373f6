"""The rule over trainers that wait for data: are their workers at work, idle, or dead?"""

from __future__ import annotations

from hangtop.common.text import every, some
from hangtop.diagnosis.rules.verdict_builders import (
    build_culprits,
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
    waiting = [member for member in snapshot.members if member.status == "dataloader"]
    if not snapshot.is_quiet or not waiting or any(member.alive for member in snapshot.members):
        return None
    pids = {member.pid for member in waiting}
    everyone = [each for each in snapshot.procs.processes if each.role == "data worker" and each.ppid in pids]
    if busy := [worker for worker in everyone if status_of(snapshot.state, worker, patient=snapshot.patient).alive]:
        at_work = (Evidence("procs", f"{some(len(busy), 'data worker')} of {len(everyone)} at work"),)
        headline = f"{names(waiting)} wait{plural_s(waiting)} for data, and the loader works."
        return slow_verdict(snapshot, headline, "dataloader", at_work)
    idle = f"{every(len(everyone), 'data worker')} idle" if everyone else "no data worker is left"
    what = "" if not everyone else _worker_place(snapshot, everyone)
    headline = f"{names(waiting)} wait{plural_s(waiting)} for data that never comes: {idle}{what}."
    evidence = (stack_evidence(waiting), Evidence("procs", idle), silence(snapshot))
    return hung_verdict(headline, "dataloader", build_culprits(snapshot, waiting), evidence, "a data worker uses CPU")


def _worker_place(snapshot: Snapshot, workers: list[Process]) -> str:
    """Where the workers stand, when their stacks are known."""
    pids = {worker.pid for worker in workers}
    stacks = (stack for look in reversed(snapshot.state.looks) for stack in look.stacks if stack.pid in pids)
    seen = ((stack.pid, known) for stack in stacks if (known := activity_of(stack)) and known.kind != "loader_worker")
    return next((f", pid {pid} {known.text} ({known.where})" for pid, known in seen), "")


def dead_workers(snapshot: Snapshot, parent: MemberStatus) -> list[Process]:
    """Children of a member that waits for a batch, dead and not collected: nobody noticed their exit. A child that failed
    comes first."""
    if parent.does not in ("queue", "dataloader", "pipe"):
        return []
    dead = (process for process in snapshot.procs.processes if process.ppid == parent.pid and process.exited)
    return sorted(dead, key=lambda process: process.exit_code == 0)
