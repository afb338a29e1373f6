"""A process that rests for moments and goes on: it sleeps in a loop that ends by itself, whoever comes. Pure.

One that sleeps and looks again may be a monitor, or wait in vain itself. Its source tells them apart, as far as its stack was
looked at; of coroutines, which stand on no stack, all sleeps that the files of its event loop's stack await."""

from __future__ import annotations

from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.records.waiting import ThreadWait
from hangtop.records.watched_waits import AGAIN, WatchedProcess

RESTS = "rests for moments and goes on"
KINDS = ("sleep", "poll", None)
"""Calls in which such a process is seen, or in none: it was awake."""


def first_at_rest(process: WatchedProcess) -> ThreadWait | None:
    """Its first thread, if that may rest."""
    first = next(iter(process.threads), None)
    return first if first is not None and first.call.kind in KINDS else None


def rests_between(watch: Watch, process: WatchedProcess) -> bool:
    """Whether it woke in the watch, and its loop ends by itself. A shell waits for one command after the other."""
    if process.counted and process.threads and process.threads[0].call.kind in ("child", None):
        return process.woken_in + process.changed_in >= AGAIN
    first = first_at_rest(process)
    if first is None or process.woken_in + process.changed_in < AGAIN:
        return False
    if first.call.kind == "poll":
        return bool(watch.timers.get(process.pid)) and process.pid in watch.paced
    return watch.loops.get(first.call.tid) == "ends"
