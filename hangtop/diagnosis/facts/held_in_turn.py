"""A process that is stopped while its parent has another of its children work: two jobs that share a machine by turns. Pure.

Nothing tells who sent the signal. But a parent that sleeps until a moment that the kernel knows, beside another job of its own
that works, may let the stopped one go on then, and nobody can say before that moment that it will not."""

from __future__ import annotations

from msgspec import Struct

from hangtop.diagnosis.facts.long_sleeps import sleep_of
from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.records.watched_waits import AGAIN, WatchedProcess


class Turn(Struct, frozen=True):
    """`other`: the one that works meanwhile. `until`: when their parent wakes."""

    other: WatchedProcess
    until: float


def turn_of(watch: Watch, pid: int) -> Turn | None:
    """Of a process that a signal stopped. The other job must be none of the run's: a rank works beside one that is stopped
    until it waits for it."""
    own = watch.processes.get(pid)
    parent = watch.processes.get(own.ppid) if own is not None else None
    if own is None or parent is None or own.state != "T" or not parent.threads:
        return None
    sleep = sleep_of(watch, parent, parent.threads[0])
    beside = (watch.processes[each] for each in watch.reading.beside if each in watch.processes)
    other = next((each for each in beside if each.ppid == own.ppid and _goes_on(each)), None)
    return None if other is None or sleep is None or not sleep.is_pause else Turn(other, sleep.until)


def _goes_on(process: WatchedProcess) -> bool:
    """Whether it runs now and then, whatever it does."""
    return process.state not in "TtZX" and max(process.busy_in, process.woken_in, process.changed_in) >= AGAIN
