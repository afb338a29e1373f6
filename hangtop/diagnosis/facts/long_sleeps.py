"""A thread that sleeps until a moment that the kernel knows: nobody can say that it hangs before that moment. Pure.

A run pauses so on purpose: it tries again in a minute, keeps to a rate, stands in for slow work. A loop that looks for something
and sleeps between differs: that one wakes up while it is watched."""

from __future__ import annotations

from msgspec import Struct

from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.records.waiting import ThreadWait, outer_ends
from hangtop.records.watched_waits import WatchedProcess


class Sleep(Struct, frozen=True):
    """`until`: the moment at which it ends, at the latest. `is_pause`: the silence will not be too long by then."""

    until: float
    is_pause: bool


def sleep_of(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> Sleep | None:
    """The sleep in which this thread was during the whole watch, and still is; `None` where it does not sleep, woke, or nothing
    tells for how long."""
    return _rest(watch, process, thread) if _only_sleeps(thread) else None


def clock_of(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> Sleep | None:
    """The clock that an event loop has set itself while it also waits for others: by then it does something, whoever comes. An
    answer that is held back so, as by `asyncio.sleep`, comes then."""
    return _rest(watch, process, thread) if thread.call.kind == "poll" else None


def _rest(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> Sleep | None:
    call, reading = thread.call, watch.reading
    if call.rest_s is None or call.rest_s <= reading.seconds:
        return None
    if not call.rest_exact and (call.rest_s < watch.silence_s or not _slept_through(process, thread)):
        return None  # shorter than the silence: one of many
    until = reading.started_at + call.rest_s
    return Sleep(until, until <= watch.pauses_end_at)


def _only_sleeps(thread: ThreadWait) -> bool:
    """An event loop that waits for nothing but its own clocks and threads sleeps too."""
    if thread.call.kind != "poll":
        return thread.call.kind == "sleep"
    return bool(thread.ends) and not outer_ends(thread)


def _slept_through(process: WatchedProcess, thread: ThreadWait) -> bool:
    """Only the first thread is watched so closely."""
    return thread.call.tid == process.pid and process.stood and not process.woken_in
