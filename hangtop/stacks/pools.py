"""What the stack of a process tells of its pool of workers (multiprocessing/pool.py). Pure.

A pool keeps three threads in the process that made it: one looks after the workers, one hands out tasks, one takes the results.
The third one ends for good where it cannot rebuild what a worker sent, such as an error that wants other arguments; nothing says
so to whoever waits for the results."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.records.stack import Frame, Stack

POOL, RESULTS = "multiprocessing/pool.py", frozenset({"get", "wait", "next"})
"""Where a program waits for what the workers of a pool give (ApplyResult and IMapIterator)."""


def awaits_pool(frame: Frame) -> bool:
    """Whether this is that wait."""
    return frame.file.endswith(POOL) and frame.name in RESULTS


def lost_results(stack: Stack) -> bool:
    """Whether its main thread waits for results of a pool while fewer threads take results than hand out tasks."""
    main = stack.main
    if main is None or not any(map(awaits_pool, main.frames)):
        return False
    kept = list(_kept(stack))
    return kept.count("_handle_results") < max(kept.count("_handle_tasks"), kept.count("_handle_workers"))


def _kept(stack: Stack) -> Iterator[str]:
    """The functions of pools that its threads run."""
    return (frame.name for thread in stack.threads for frame in thread.frames if frame.file.endswith(POOL))
