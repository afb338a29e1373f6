"""Children of a member that have died, and that it has not noticed: it waits for what they would have given it."""

from __future__ import annotations

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.process import Process


def dead_workers(snapshot: Snapshot, parent: MemberStatus) -> list[Process]:
    """Children of a member that waits for what another gives it, dead and not collected: nobody noticed their exit. A child that
    failed comes first."""
    if parent.does not in ("queue", "dataloader", "pipe"):
        return []
    dead = (process for process in snapshot.procs.processes if process.ppid == parent.pid and process.exited)
    return sorted(dead, key=lambda process: process.exit_code == 0)


def failed_child(snapshot: Snapshot, parent: MemberStatus) -> Process | None:
    """The first of them, if it failed."""
    child = next(iter(dead_workers(snapshot, parent)), None)
    return child if child is not None and child.exit_code != 0 else None
