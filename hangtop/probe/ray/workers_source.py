"""The source "rayworkers": what workers of Ray print, also on other nodes, and their stacks there. It has a thread of its own, so
that a node that does not answer holds up nothing else.

The output of the run's ranks on other nodes is followed, a few files at a time. All else is read only on a question. What reads
is imported where there is something to read: most runs have no worker of Ray.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hangtop.probe.context import ProbeContext
from hangtop.probe.source import Source
from hangtop.records.ask import ActorLogAsk, RemoteStacksAsk
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
            from hangtop.probe.ray.worker_output import fetch

            fetch(due, now)
        return ()

    def answer(self, ask: ActorLogAsk | RemoteStacksAsk, now: float) -> Iterator[Value]:
        cluster = self._context.access.get(ask.session)
        if isinstance(ask, ActorLogAsk):
            from hangtop.probe.ray.worker_output import actor_log

            yield actor_log(ask, cluster, now)
        else:
            from hangtop.probe.ray.dashboard.remote_worker_stacks import remote_worker_stacks

            yield from remote_worker_stacks(ask, cluster, now)
