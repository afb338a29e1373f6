"""A main thread that waits for threads of its own: does one of these go on? Pure.

One that sleeps comes back by itself. In a loop that ends, or that takes a piece of work in each round, it has something to do
that may be what the others wait for. Around a heartbeat or a monitor the loop never ends and takes nothing."""

from __future__ import annotations

from hangtop.common.text import moment
from hangtop.diagnosis.facts.long_sleeps import sleep_of
from hangtop.diagnosis.facts.other_side import side_of
from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.records.stack import Loop
from hangtop.records.waiting import ThreadWait, outer_ends
from hangtop.records.watched_waits import WatchedProcess

GOES_ON: frozenset[Loop] = frozenset({"takes", "ends", "none"})
ASKS_ONE = frozenset({"child", "read", "receive", "file lock"})
"""Calls at which one thing is waited for. An event loop is woken by whatever comes, heartbeats too."""


def helper_at_work(watch: Watch, process: WatchedProcess) -> str | None:
    """What a thread beside the first does, as the rest of a sentence after its name; `None` where nothing tells that one goes
    on, or the silence is longer than any pause explains."""
    if watch.reading.started_at + watch.reading.seconds > watch.pauses_end_at:
        return None
    return next((said for thread in process.threads[1:] if (said := _goes_on(watch, process, thread)) is not None), None)


def _goes_on(watch: Watch, process: WatchedProcess, thread: ThreadWait) -> str | None:
    if thread.call.kind in ASKS_ONE and len(outer_ends(thread)) == 1:
        side = side_of(watch, process, thread)
        return f"waits for {side.text}" if side is not None and side.kind == "works" else None
    if thread.call.kind != "sleep" or watch.loops.get(thread.call.tid) not in GOES_ON:
        return None
    sleep = sleep_of(watch, process, thread)
    if sleep is None and watch.beats_come and any(moves.tid == thread.call.tid for moves in process.moves):
        return None  # it may be what prints them
    if sleep is None:
        return "sleeps for moments and goes on"
    return f"sleeps until {moment(sleep.until, watch.reading.started_at)}" if sleep.is_pause else None
