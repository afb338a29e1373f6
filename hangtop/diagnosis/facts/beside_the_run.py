"""Processes beside the members: that the same job started, such as a daemon that scores checkpoints or the training that an
evaluation follows, or of another job that works in the same folder. A member that looks for something again and again may look
for what they give. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.common.text import moment
from hangtop.diagnosis.facts.long_sleeps import sleep_of
from hangtop.diagnosis.facts.other_side import COMPUTES, OtherSide, computes, named, stands_stopped
from hangtop.diagnosis.facts.rests_between import RESTS, first_at_rest, rests_between
from hangtop.diagnosis.facts.wait_graph import dead_locks, wait_graph
from hangtop.diagnosis.facts.wait_moves import Watch, look_of
from hangtop.records.waiting import OtherEnd, ThreadWait
from hangtop.records.watched_waits import WaitsReading, WatchedProcess


def work_beside(watch: Watch) -> str | None:
    """One that computes, as a sentence, else one that rests and goes on. What a stranger does explains silence for no longer than
    a run may rest on purpose."""
    beside = _beside(watch)
    busy = next((process for process in beside if computes(watch, process)), None)
    if busy is not None:
        return f"{named(busy)}, of the same job, {COMPUTES}"
    here = ((process, _goes_on(watch, process)) for process in beside)
    if rests := next((f"{named(process)}, of the same job, {does}" for process, does in here if does is not None), None):
        return rests
    if watch.reading.started_at + watch.reading.seconds > watch.pauses_end_at:
        return None
    there = ((process, _goes_on(watch, process)) for process in _near(watch))
    return next((f"{named(process)}, in a folder of this run, {does}" for process, does in there if does is not None), None)


def rest_around(reading: WaitsReading) -> tuple[int, ...]:
    """The pids of those beside and near the members that slept or ran when they were seen: their own source may tell that they go
    on."""
    by_pid = {process.pid: process for process in reading.processes}
    return tuple(pid for pid in (*reading.beside, *reading.near) if pid in by_pid and first_at_rest(by_pid[pid]))


def _goes_on(watch: Watch, process: WatchedProcess) -> str | None:
    """That it computes, as a verb; that it sleeps until a moment, or for moments in a loop that ends by itself. One that sleeps
    and looks again may be a monitor."""
    if computes(watch, process):
        return COMPUTES
    first = first_at_rest(process)
    if first is not None and (sleep := sleep_of(watch, process, first)) is not None and sleep.is_pause:
        return f"sleeps until {moment(sleep.until, watch.reading.started_at)}"
    return RESTS if rests_between(watch, process) else None


def stuck_beside(watch: Watch) -> OtherSide | None:
    """Those that can never go on: stopped, or in a circle of waits for each other. One that idles may have nothing to do."""
    beside = _beside(watch)
    if stopped := next((process for process in beside if stands_stopped(process)), None):
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


def _near(watch: Watch) -> list[WatchedProcess]:
    return [watch.processes[pid] for pid in watch.reading.near if pid in watch.processes]


def _beside(watch: Watch) -> list[WatchedProcess]:
    """Also the shells of the run itself that go from command to command: no member stands for these. A shell that is only near,
    or at the other end of what somebody waits at, is a stranger's."""
    known = watch.processes.values()
    ends = {(process.pid, pid) for process in known for thread in process.threads for end in _met(thread) for pid in end.pids}
    strange = {*watch.reading.near, *(pid for waits, pid in ends if pid != waits)}
    shells = (process.pid for process in known if process.counted and process.pid not in strange)
    return [watch.processes[pid] for pid in dict.fromkeys((*watch.reading.beside, *shells)) if pid in watch.processes]


def _met(thread: ThreadWait) -> Iterator[OtherEnd]:
    """Where others are met: a child is no stranger."""
    return (end for end in (*thread.ends, *thread.locked) if end.object.kind not in ("child", "process"))
