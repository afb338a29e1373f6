"""A server that sleeps over an answer: a slow service, or a stand-in for one, computes and sends nothing until it is done. Pure.

Of a server of which the first thread sleeps, nobody else answers. Of one with a thread for each question, the thread counts that
may have been made for this one: it began later than the process that asks. Older ones sleep between two beats of a heart. An
event loop answers itself, and tells nothing of what waits in it but how many moments it has set itself."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hangtop.common.text import moment
from hangtop.diagnosis.facts.long_sleeps import clock_of, sleep_of
from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.records.waiting import ThreadWait, outer_ends
from hangtop.records.watched_waits import AGAIN, WatchedProcess
from hangtop.stacks.loops import LOOKS_AGAIN

OF_ITS_CLOCK = 1
"""Moments that an event loop has set itself where it only wakes now and then: the next of these. One more may be an answer's."""


class HeldBack(Struct, frozen=True):
    """`text`: what such a server does, as a verb. `doubted`: that may go on for ever. `unsure`: nothing tells whether an answer
    will come of it."""

    text: str
    doubted: bool = False
    unsure: bool = False


def held_back(watch: Watch, process: WatchedProcess, asks: WatchedProcess) -> HeldBack | None:
    """`None` where nothing tells of an answer to come.

    A sleep explains silence only until `watch.pauses_end_at`. Sleeps of moments count where the whole question was taken, and
    nothing is sent meanwhile: a heart beats so too."""
    first, since = process.threads[0], watch.reading.started_at
    if (clock := clock_of(watch, process, first)) is not None and clock.is_pause:
        return HeldBack(f"sleeps until {moment(clock.until, since)}")
    sleepers = list(_sleepers(process, asks))
    for thread in sleepers:
        if (sleep := sleep_of(watch, process, thread)) is not None and sleep.is_pause:
            return HeldBack(f"sleeps until {moment(sleep.until, since)}")
    untaken = any(moves.queued for moves in asks.sockets) or any(moves.far_unread_bytes for moves in asks.unix)
    if untaken or since + watch.reading.seconds > watch.pauses_end_at:
        return None
    if _is_ticking_loop(process, asks):
        asleep = watch.timers.get(process.pid, 0) > OF_ITS_CLOCK
        said = "took the question, and has more than one clock set" if asleep else "took the question, and wakes by its own clock"
        return HeldBack(said, doubted=True, unsure=not asleep)
    awake = [thread for thread in sleepers if _goes_on(watch, process, thread)]
    if not awake or any(moves.acked_in for moves in process.sockets):
        return None
    asks_on = all(watch.loops.get(thread.call.tid) in (*LOOKS_AGAIN, "endless") for thread in awake)
    said = "took the question, and asks for something again and again" if asks_on else "sleeps for moments and goes on"
    return HeldBack(said, doubted=True, unsure=asks_on)


def _sleepers(process: WatchedProcess, asks: WatchedProcess) -> Iterable[ThreadWait]:
    first, *others = process.threads
    if first.call.kind == "sleep":
        yield first
    yield from (each for each in others if each.call.kind == "sleep" and (each.call.started_ticks or 0) > asks.start_ticks)


def _is_ticking_loop(process: WatchedProcess, asks: WatchedProcess) -> bool:
    """Whether its first thread waits at the connection of the one that asks, among others, and woke by a time limit of its own
    while nothing came."""
    first = process.threads[0]
    at = {end.object.inode for end in outer_ends(first) if asks.pid in end.pids}
    ticks = first.call.kind == "poll" and first.call.timed is not False and process.woken_in >= AGAIN
    comes = any(moves.received_in for moves in process.sockets)
    return bool(at) and ticks and not comes


def _goes_on(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> bool:
    """Whether it woke while it was watched."""
    if thread.call.tid == process.threads[0].call.tid:
        return process.woken_in >= AGAIN
    return thread.call.rest_s is not None and thread.call.rest_s <= watch.reading.seconds
