"""How many moments an event loop of asyncio has set itself, where it waits. A coroutine that waits has no stack: what sleeps in
the loop, or has a time limit, is known by this number alone.

`BaseEventLoop._run_once` counts them before it waits (`sched_count = len(self._scheduled)` in asyncio/base_events.py, those that
were cancelled among them), and py-spy reads that local variable. Nothing else of the locals is kept."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.probe.stacks.pyspy import Dump, SpyFrame
from hangtop.records.stack import Stack

FUNCTION, FILE, COUNT = "_run_once", "asyncio/base_events.py", "sched_count"


def in_event_loop(dump: Dump) -> bool:
    """Whether one of its threads is in such a loop."""
    return any(_runs_loop(frame) for thread in dump.threads for frame in thread.frames)


def with_timers(stack: Stack, dump: Dump) -> Stack:
    """The stack, with what a dump with locals tells of its loops."""
    counts = {thread.os_thread_id: _count(thread.frames) for thread in dump.threads}
    return replace(stack, threads=tuple(replace(thread, timers=counts.get(thread.tid)) for thread in stack.threads))


def _runs_loop(frame: SpyFrame) -> bool:
    return frame.name.rpartition(".")[2] == FUNCTION and frame.filename.endswith(FILE)


def _count(frames: tuple[SpyFrame, ...]) -> int | None:
    told = (local.repr or "" for frame in frames if _runs_loop(frame) for local in frame.locals or () if local.name == COUNT)
    return next((int(text) for text in told if text.isdecimal()), None)
