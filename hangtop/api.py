"""hangtop for programs: `hangtop.check(log="train.log")`, and `async for change in hangtop.watch(log="train.log")`.

What both give are the records of `hangtop.records.verdict`; nothing here changes anything, and nothing is printed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence

from hangtop.cli.commands.check import verdict_once
from hangtop.common import clock
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.monitor.headless import StackRequester, settled, states
from hangtop.monitor.monitor import Monitor
from hangtop.records.verdict import Verdict, VerdictChanged
from hangtop.records.watch_spec import ASKED_SOURCES, DEFAULT_SOURCES, DEFAULT_STALL_S, WatchSpec, no_path

__all__ = ["Verdict", "VerdictChanged", "check", "check_async", "watch"]

LOOK_S = 0.5

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def check(
    log: Paths = (), *, pids: Sequence[int] = (), stall_s: float = DEFAULT_STALL_S, wait_s: float | None = None, ray: str = "auto"
) -> Verdict:
    """One verdict, as `hangtop check` says it. `wait_s`: watch at least so long.

    Raises `ValueError` where no run is named, `OSError` where no probe can be started. Inside an event loop: `check_async`.
    """
    return asyncio.run(check_async(log, pids=pids, stall_s=stall_s, wait_s=wait_s, ray=ray))


async def check_async(
    log: Paths = (), *, pids: Sequence[int] = (), stall_s: float = DEFAULT_STALL_S, wait_s: float | None = None, ray: str = "auto"
) -> Verdict:
    """The same, to be awaited."""
    spec = _spec(log, pids, stall_s, ray)
    _, verdict = await verdict_once(ProbeFeed(spec), spec, wait_s)
    return verdict


async def watch(
    log: Paths = (), *, pids: Sequence[int] = (), stall_s: float = DEFAULT_STALL_S, ray: str = "auto"
) -> AsyncIterator[VerdictChanged]:
    """Each change of the verdict, the first one at once; ends when the run has. Raises `ValueError`, `OSError`."""
    spec = _spec(log, pids, stall_s, ray)
    changes: list[VerdictChanged] = []
    feed, monitor = ProbeFeed(spec), Monitor(spec, (changes.append,))
    requester = StackRequester(feed)
    try:
        async for state in states(feed, LOOK_S):
            requester.follow(monitor.look(state, clock.now(), draft=not settled(state)))
            while changes:
                yield changes.pop(0)
            if settled(state) and monitor.verdict.state.ended:
                return
    finally:
        feed.close()


def _spec(log: Paths, pids: Sequence[int], stall_s: float, ray: str) -> WatchSpec:
    paths = (log,) if isinstance(log, str | os.PathLike) else tuple(log)
    if not paths and not pids:
        raise ValueError("which run? give log or pids")
    if not 1 <= stall_s < float("inf"):
        raise ValueError(f"stall_s {stall_s}: at least one second")
    names = tuple(os.fspath(path) for path in paths)
    if bad := [f"log {name!r}: {why}" for name in names if (why := no_path(name))]:
        raise ValueError(bad[0])
    return WatchSpec(logs=names, pids=tuple(pids), stall_s=stall_s, sources=(*DEFAULT_SOURCES, *ASKED_SOURCES), ray=ray)
