"""The source "rayworkers": what workers of Ray print, also on other nodes, and their stacks there. It has a thread of its own, so
that a node that does not answer holds up nothing else.

The output of the run's ranks on other nodes is followed, a few files at a time. All else is read only on a question.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial

from hangtop.probe.context import ProbeContext
from hangtop.probe.ray.dashboard.actor_log import actor_log
from hangtop.probe.ray.dashboard.http import DEADLINE_S, run_at_once
from hangtop.probe.ray.dashboard.remote_log import RemoteLog
from hangtop.probe.ray.dashboard.remote_worker_stacks import remote_worker_stacks
from hangtop.probe.source import Source
from hangtop.records.ask import ActorLogAsk, RemoteStacksAsk
from hangtop.records.ray.remote_workers import ActorLogReading
from hangtop.records.reading import Value

MOST_FILES_A_LOOK = 16
"""Every 2 s: 8 files a second, 16 kB each at most."""


class RayWorkerSource(Source):
    """Sends no readings by itself: the log source reads what it fetches."""

    interval_s = 2.0
    deadline_s = 60.0
    """A task in the cluster takes seconds to start."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context

    def read(self, now: float) -> Iterable[Value]:
        """Fetches from the output files on other nodes that are due, the longest due first."""
        far = [file.far for file in self._context.workers if file.far is not None]
        due = sorted((log for log in far if log.due_at <= now), key=lambda log: log.due_at)[:MOST_FILES_A_LOOK]
        if due:
            fetch(due, now)
        return ()

    def answer(self, ask: ActorLogAsk | RemoteStacksAsk, now: float) -> Iterator[Value]:
        cluster = self._context.access.get(ask.session)
        if isinstance(ask, ActorLogAsk):
            yield ActorLogReading(ask.ask, *actor_log(ask, cluster, now))
        else:
            yield from remote_worker_stacks(ask, cluster, now)


def fetch(files: Iterable[RemoteLog], now: float) -> None:
    """Fetch from several nodes at once. A node that does not answer is waited for no longer than all others together."""
    nodes: dict[str, list[RemoteLog]] = {}
    for file in files:
        nodes.setdefault(file.place.node, []).append(file)
    until = time.monotonic() + DEADLINE_S

    def fetch_all(logs: Iterable[RemoteLog]) -> None:
        for log in logs:
            if time.monotonic() < until:
                log.fetch(now)

    run_at_once([partial(fetch_all, logs) for logs in nodes.values()], 2 * DEADLINE_S)
