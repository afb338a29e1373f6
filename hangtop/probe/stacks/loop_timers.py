"""How many moments an event loop of asyncio has set itself, where it waits. A coroutine that waits has no stack: what sleeps in
the loop, or has a time limit, is known by this number alone.

`BaseEventLoop._run_once` counts them before it waits (`sched_count = len(self._scheduled)` in asyncio/base_events.py, those that
were cancelled among them), and py-spy reads that local variable. Nothing else of the locals is kept."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.probe.stacks.pyspy import Dump, SpyFrame, SpyThread
from hangtop.records.stack import Stack
from hangtop.system.waits.blocked_call import blocked_call

FUNCTION, FILE, COUNT = "_run_once", "asyncio/base_events.py", "sched_count"
RAYS_LOOP = "AsyncIO Thread"
"""So Ray names the threads in which it runs coroutines, in uvloop where that is installed (python/ray/_raylet.pyx, Ray 2.60)."""


def in_event_loop(dump: Dump) -> bool:
    """Whether one of its threads is in such a loop."""
    return any(_runs_loop(frame) for thread in dump.threads for frame in thread.frames)


def with_timers(stack: Stack, dump: Dump) -> Stack:
    """The stack, with what a dump with locals tells of its loops."""
    counts = {thread.os_thread_id: _count(thread.frames) for thread in dump.threads}
    return replace(stack, threads=tuple(replace(thread, timers=counts.get(thread.tid)) for thread in stack.threads))


def moments_in_c(pid: int, thread: SpyThread) -> int | None:
    """Of a loop of Ray that is C code, 1 if it has set itself a moment, else 0; `None` where nothing tells. libuv polls until its
    next timer, and without a time limit where it has none (uv__io_poll in src/unix/linux.c)."""
    is_loop = (thread.thread_name or "").partition(":")[0] == RAYS_LOOP and not any(map(_runs_loop, thread.frames))
    if not is_loop or thread.os_thread_id is None:
        return None
    try:
        call = blocked_call(pid, thread.os_thread_id)
    except OSError:  # it ended meanwhile
        return None
    return None if call.kind != "poll" or call.timed is None else int(call.timed)


def _runs_loop(frame: SpyFrame) -> bool:
    return frame.name.rpartition(".")[2] == FUNCTION and frame.filename.endswith(FILE)


def _count(frames: tuple[SpyFrame, ...]) -> int | None:
    told = (local.repr or "" for frame in frames if _runs_loop(frame) for local in frame.locals or () if local.name == COUNT)
    return next((int(text) for text in told if text.isdecimal()), None)
