"""Does a stack stand in Ray's own code: idle until the next call, or waiting for a call that another worker runs? Pure.

Source: python/ray/_private/worker.py and workers/default_worker.py (Ray 2.9 to 2.60). Ray's own threads run meanwhile, and
`ray.get` wakes up each second to look for signals, so that neither CPU time nor wake-ups of such a process are a sign of life.
"""

from __future__ import annotations

from typing import Literal

from hangtop.stacks.activity import Activity

RayWait = Literal["idle", "call"]
QueueWait = Literal["put", "get"]
RAYS_OWN = "/ray/_private/"
RAYS_QUEUE = "/ray/util/queue.py"


def ray_wait(known: Activity | None) -> RayWait | None:
    """`idle`: it waits to be called. `call`: it waits in `ray.get` or `ray.wait` for an answer. `None`: neither."""
    if known is None or RAYS_OWN not in f"/{known.call.file}":
        return None
    if known.kind == "idle":
        return "idle"
    return "call" if known.kind == "remote" else None


def queue_wait(known: Activity | None) -> QueueWait | None:
    """In which method of Ray's own queue it waits for the actor behind it: until there is room, or an item. That actor only keeps
    the items, so that the wait ends by another call to it (python/ray/util/queue.py, Ray 2.60)."""
    if ray_wait(known) != "call" or known is None:
        return None
    called = next((frame.name for frame in known.thread.frames if f"/{frame.file}".endswith(RAYS_QUEUE)), "")
    return "put" if called == "put" else "get" if called == "get" else None
