"""Processes that the same job started beside the members, such as a daemon that scores checkpoints. A member that looks for
something again and again may look for what they give. Pure."""

from __future__ import annotations

from hangtop.diagnosis.facts.other_side import OtherSide, computes, named
from hangtop.diagnosis.facts.wait_graph import dead_locks, wait_graph
from hangtop.diagnosis.facts.wait_moves import Watch, look_of
from hangtop.records.watched_waits import WatchedProcess


def work_beside(watch: Watch) -> str | None:
    """One that computes, as a sentence."""
    busy = next((process for process in _beside(watch) if computes(watch, process)), None)
    return None if busy is None else f"{named(busy)}, of the same job, computes"


def stuck_beside(watch: Watch) -> OtherSide | None:
    """Those that can never go on: stopped, or in a circle of waits for each other. One that idles may have nothing to do."""
    beside = _beside(watch)
    if stopped := next((process for process in beside if process.state in "Tt" and process.stood), None):
        return OtherSide(
            "stopped", f"{named(stopped)}, of the same job, which is stopped", stopped.pid, (stopped.pid,), doubted=True
        )
    by_pid = {process.pid: process for process in beside}
    for lock in dead_locks(wait_graph(look_of(watch))):
        here = [by_pid[pid] for pid in lock.pids if pid in by_pid and by_pid[pid].stood]
        if len(here) == len(lock.pids) > 1 and not lock.partly_seen:
            names = " and ".join(map(named, here[:3]))
            return OtherSide("idle", f"{names}, of the same job, which wait for each other", here[0].pid, lock.pids, doubted=True)
    return None


def _beside(watch: Watch) -> list[WatchedProcess]:
    return [watch.processes[pid] for pid in watch.reading.beside if pid in watch.processes]
