"""The rule over trainers that wait for data: are their workers at work, idle, or dead?"""

from __future__ import annotations

from hangtop.common.text import every, some
from hangtop.diagnosis.rules.verdict_builders import culprit_of, hung, names, s, silence, slow, stack_evidence
from hangtop.diagnosis.snapshot import Case
from hangtop.diagnosis.status.member_status import Standing, standing_of
from hangtop.records.process import Process
from hangtop.records.verdict import Evidence, Verdict
from hangtop.stacks.activity import doing


def dataloader(case: Case) -> Verdict | None:
    """The trainer waits for its data workers: are they at work?"""
    waiting = [one for one in case.standings if one.how == "dataloader"]
    if not case.is_quiet or not waiting or any(one.alive for one in case.standings):
        return None
    workers = {one.pid: _workers(case, one) for one in waiting}
    everyone = [worker for below in workers.values() for worker in below]
    if busy := [worker for worker in everyone if standing_of(case.state, worker, patient=case.patient).alive]:
        text = f"{some(len(busy), 'data worker')} of {len(everyone)} at work"
        return slow(
            case, f"{names(waiting)} wait{s(waiting)} for data, and the loader works.", "dataloader", (Evidence("procs", text),)
        )
    idle = f"{every(len(everyone), 'data worker')} idle" if everyone else "no data worker is left"
    what = "" if not everyone else _worker_place(case, everyone)
    headline = f"{names(waiting)} wait{s(waiting)} for data that never comes: {idle}{what}."
    culprits = tuple(culprit_of(case, one) for one in waiting)
    return hung(
        headline,
        "dataloader",
        culprits,
        (stack_evidence(waiting), Evidence("procs", idle), silence(case)),
        "a data worker uses CPU",
    )


def _workers(case: Case, trainer: Standing) -> list[Process]:
    processes = () if case.procs is None else case.procs.processes
    return [one for one in processes if one.role == "data worker" and one.ppid == trainer.pid]


def _worker_place(case: Case, workers: list[Process]) -> str:
    """Where the workers stand, when their stacks are known."""
    pids = {worker.pid for worker in workers}
    for look in reversed(case.state.looks):
        for stack in look.stacks:
            if stack.pid in pids and (known := doing(stack)) is not None and known.kind != "loader_worker":
                return f", pid {stack.pid} {known.text} ({known.where})"
    return ""


def dead_workers(case: Case, parent: Standing) -> list[Process]:
    """Children of a member that waits for a batch, dead and not asked for: nobody noticed their exit. Who failed comes first."""
    if parent.doing is None or parent.doing.kind not in ("queue", "dataloader", "pipe") or case.procs is None:
        return []
    dead = (one for one in case.procs.processes if one.ppid == parent.pid and one.state in "ZX")
    return sorted(dead, key=lambda one: one.exit_code == 0)
