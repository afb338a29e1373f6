"""A server that sleeps over an answer: a slow service, or a stand-in for one, computes and sends nothing until it is done. Pure.

Of a server of which the first thread sleeps, nobody else answers. Of one with a thread for each question, the thread counts that
may have been made for this one: it began later than the process that asks. Older ones sleep between two beats of a heart."""

from __future__ import annotations

from collections.abc import Iterable

from hangtop.common.text import moment
from hangtop.diagnosis.facts.long_sleeps import clock_of, sleep_of
from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.records.waiting import ThreadWait
from hangtop.records.watched_waits import AGAIN, WatchedProcess


def held_back(watch: Watch, process: WatchedProcess, asks: WatchedProcess) -> tuple[str, bool] | None:
    """What such a server does, as a verb, and whether that may go on for ever; `None` where nothing tells of an answer to come.

    A sleep explains silence only until `watch.pauses_end_at`. Sleeps of moments count where the whole question was taken, and
    nothing is sent meanwhile: a heart beats so too."""
    first, since = process.threads[0], watch.reading.started_at
    if (clock := clock_of(watch, process, first)) is not None and clock.is_pause:
        return f"sleeps until {moment(clock.until, since)}", False
    sleepers = list(_sleepers(process, asks))
    for thread in sleepers:
        if (sleep := sleep_of(watch, process, thread)) is not None and sleep.is_pause:
            return f"sleeps until {moment(sleep.until, since)}", False
    beats = any(moves.acked_in for moves in process.sockets)
    untaken = any(moves.queued for moves in asks.sockets) or any(moves.far_unread_bytes for moves in asks.unix)
    if beats or untaken or since + watch.reading.seconds > watch.pauses_end_at:
        return None
    return ("sleeps for moments and goes on", True) if any(_goes_on(watch, process, thread) for thread in sleepers) else None


def _sleepers(process: WatchedProcess, asks: WatchedProcess) -> Iterable[ThreadWait]:
    first, *others = process.threads
    if first.call.kind == "sleep":
        yield first
    yield from (each for each in others if each.call.kind == "sleep" and (each.call.started_ticks or 0) > asks.start_ticks)


def _goes_on(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> bool:
    """Whether it woke while it was watched."""
    if thread.call.tid == process.threads[0].call.tid:
        return process.woken_in >= AGAIN
    return thread.call.rest_s is not None and thread.call.rest_s <= watch.reading.seconds
