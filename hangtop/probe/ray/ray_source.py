"""The source "ray": the clusters of this machine, and what their dashboards tell of all nodes. Ray itself is never imported.

First the process table, which always answers; then plain HTTP to the dashboard, never longer than `http.DEADLINE_S`; where that
is missing or not understood, the GCS's tables by a child (`dashboard.state_tables`). None of this shows in the person's cluster.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace

from hangtop.diagnosis.members.ray_ownership import clusters_of_run, owned
from hangtop.probe.context import ProbeContext
from hangtop.probe.ray.dashboard.token import AuthToken, find_token
from hangtop.probe.ray.local.daemons import Daemon
from hangtop.probe.ray.local.ray_processes import NO_JOB, RayProcesses, RayTable
from hangtop.probe.ray.local.start_options import python_of
from hangtop.probe.ray.local.worker_files import rank_files
from hangtop.probe.source import Absent, Source, SourceError
from hangtop.records.ask import RayAsk
from hangtop.records.ray.cluster import RayCluster, RayReading
from hangtop.records.reading import Value
from hangtop.state.run_state import RunState
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import ProcessTable

if TYPE_CHECKING:  # what reads a cluster is imported where there is one
    from hangtop.probe.ray.cluster import Cluster
    from hangtop.probe.ray.dashboard.ray_python import RayPython
    from hangtop.probe.ray.session import SessionDescriber

NONE_HERE = "no Ray session on this machine"
GCS_PORT, DASHBOARD_PORT = 6379, 8265
MOST_CLUSTERS = 8
REPEAT_S = 5.0
"""How often ages and loads are told when nothing else changes."""
ADDRESS_VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
HOST = re.compile(r"[\w.:%-]+")
"""A name in any script, or an IP address, of version 6 with its zone."""


class RaySource(Source):
    """Reads every 2 s: the dashboard caches its answers that long anyway."""

    interval_s = 2.0

    def __init__(self, context: ProbeContext, table: ProcessTable | None = None) -> None:
        self._context = context
        self._table = table or open_table()
        self._processes = RayTable(self._table)
        self._here = RayProcesses()
        self._clusters: dict[str, Cluster] = {}
        self._last: RayReading | None = None
        self._said_at = 0.0
        self._sessions: SessionDescriber | None = None

    def read(self, now: float) -> Iterable[Value]:
        """All clusters, when something of them changed."""
        if self._context.spec.ray == "off":
            raise Absent("switched off by --ray off")
        here = self._here = self._processes.read(now)
        self._context.ray_daemons = frozenset(daemon.identity for daemon in here.daemons if daemon.gone_at is None)
        reading = replace(self._named(here, now), named=True) if self._context.spec.ray != "auto" else self._found(here, now)
        self._context.access = {cluster.name: cluster for cluster in self._clusters.values()}
        state = self.run_with(reading)
        own = clusters_of_run(state)
        pids = {actor.pid for cluster in own for actor in cluster.actors} | self._at_tasks(here, state)
        self._context.ray_workers = frozenset(worker.identity for worker in here.workers if worker.pid in pids)
        self._context.workers = rank_files(own, self._context.access)
        standing = _without_noise(reading)
        if standing != self._last or now - self._said_at >= REPEAT_S:
            self._last, self._said_at = standing, now
            far = [file.far for file in self._context.workers if file.far is not None]
            read = sum(log.first_bytes is not None for log in far)
            yield replace(reading, far_logs=len(far), far_logs_read=read)

    def _at_tasks(self, here: RayProcesses, state: RunState) -> set[int]:
        """Pids of the workers here that carry out tasks of the run's jobs: no list of actors names them. The output file of one
        that was started in reserve names no job; then its node's agent tells, and where all drivers are the run's, so is it."""
        found = set[int]()
        for session in owned(state):
            name, jobs = session.cluster.session, session.jobs
            told = self._clusters[name].jobs_told() if name in self._clusters else {}
            for worker in here.workers:
                if worker.session == name and worker.title is not None:
                    job = worker.job if worker.job != NO_JOB else told.get(worker.ray_pid)
                    if job in jobs or (not job and session.whole):
                        found.add(worker.pid)
        return found

    def answer(self, ask: RayAsk, now: float) -> Iterable[Value]:
        """A session in full: its processes, what would start it again, what it leaves behind."""
        from hangtop.probe.ray.session import SessionDescriber

        self._sessions = self._sessions or SessionDescriber(self._table)
        yield self._sessions.describe(ask.ask, ask.session, self._here, now)

    def close(self) -> None:
        """Close all connections."""
        for cluster in self._clusters.values():
            cluster.close()

    def run_with(self, reading: RayReading) -> RunState:
        """The run as the other sources know it, with this reading."""
        others = self._context
        return RunState(log=others.log, ranks=others.ranks, procs=others.procs, ray={"": reading})

    def _found(self, here: RayProcesses, now: float) -> RayReading:
        """The clusters with a process here, living ones first; without any, the one that Ray's own variables name."""
        sessions = _sessions(here)
        if not sessions:
            named = (os.environ.get(name, "") for name in ADDRESS_VARIABLES)
            address = next((text for text in named if text.startswith("http://")), None)
            if address is None:
                raise Absent(NONE_HERE)
            return RayReading((self._far(parse_address(address)).read((), (), now),))
        clusters = [self._read_cluster(session, daemons, here, now) for session, daemons in sessions.items()]
        return RayReading(tuple(sorted(clusters, key=lambda c: (c.ended_at is not None, c.session))[:MOST_CLUSTERS]))

    def _named(self, here: RayProcesses, now: float) -> RayReading:
        """The cluster at the address that a person gave, of a dashboard or a GCS."""
        address = parse_address(self._context.spec.ray)
        for session, daemons in _sessions(here).items():
            if any(address in (d.gcs_address, d.dashboard) for d in daemons):
                return RayReading((self._read_cluster(session, daemons, here, now),))
        host, _, port = address.rpartition(":")
        is_gcs = int(port) == GCS_PORT
        cluster = self._far(f"{host}:{DASHBOARD_PORT}" if is_gcs else address)
        if is_gcs and find_spec("ray") is not None:
            from hangtop.probe.ray.dashboard.ray_python import RayPython

            cluster.python = RayPython(sys.executable, address)
        return RayReading((cluster.read((), (), now),))

    def _far(self, address: str) -> Cluster:
        """A cluster with no process here."""
        if address not in self._clusters:
            self._clusters[address] = _cluster("", lambda: find_token(None, {})).use_dashboard(address)
        return self._clusters[address]

    def _read_cluster(self, session: str, daemons: list[Daemon], here: RayProcesses, now: float) -> RayCluster:
        if session not in self._clusters:
            self._clusters[session] = _cluster(session, partial(self._token, session))
        cluster = self._clusters[session]
        if address := next((d.dashboard for d in sorted(daemons, key=lambda d: d.kind != "dashboard") if d.dashboard), None):
            cluster.use_dashboard(address, daemons[0].uid)
        cluster.python = self._python(daemons)
        raylets = {d.pid for d in daemons if d.kind == "raylet"}
        workers = [w for w in here.workers if w.session == session or (w.folder is None and w.raylet in raylets)]
        return cluster.read(daemons, workers, now, here)

    def _python(self, daemons: Iterable[Daemon]) -> RayPython | None:
        """Ray's own Python, if a raylet of the cluster lives here."""
        raylet = next((d for d in daemons if d.kind == "raylet" and d.gone_at is None), None)
        python = python_of(raylet.start.words) if raylet else None
        if raylet is None or python is None or raylet.gcs_address is None:
            return None
        from hangtop.probe.ray.dashboard.ray_python import RayPython

        return RayPython(python, raylet.gcs_address, raylet.start, raylet.uid)

    def _token(self, session: str) -> AuthToken | None:
        living = [d for d in self._here.daemons if d.session == session and d.gone_at is None and d.uid is not None]
        daemon = next((d for d in living if d.start.environ), next(iter(living), None))
        return find_token(daemon.uid, daemon.start.environ) if daemon else None


def _cluster(session: str, token: Callable[[], AuthToken | None]) -> Cluster:
    from hangtop.probe.ray.cluster import Cluster

    return Cluster(session, token)


def parse_address(text: str) -> str:
    """`host:port` of what a person typed: `http://host:8265`, `host:8265`, `host:6379`, `ray://host:10001`, `host`."""
    parts = urlsplit(text if "://" in text else f"//{text}")
    try:
        port = parts.port
    except ValueError:
        port = -1
    if not HOST.fullmatch(parts.hostname or "") or port == -1 or parts.scheme == "https":
        raise SourceError(
            f"--ray {text}: not an address; give the dashboard's, such as --ray 127.0.0.1:{DASHBOARD_PORT}, or auto, or off"
        )
    return f"{parts.hostname}:{DASHBOARD_PORT if port is None or parts.scheme == 'ray' else port}"


def _without_noise(reading: RayReading) -> RayReading:
    """The reading without values that change at every read."""
    return RayReading(
        tuple(
            replace(
                cluster,
                api=replace(cluster.api, actors_at=None, tables_at=None),
                nodes=tuple(replace(n, moved_at=None, cpu_percent=None, memory_used_bytes=None) for n in cluster.nodes),
                actors=tuple(replace(a, cpu_percent=None, rss_bytes=None) for a in cluster.actors),
            )
            for cluster in reading.clusters
        ),
        named=reading.named,
    )


def _sessions(here: RayProcesses) -> dict[str, list[Daemon]]:
    """Daemons by session. A session with only workers left is found by their files."""
    sessions: dict[str, list[Daemon]] = {}
    for daemon in here.daemons:
        if daemon.session:
            sessions.setdefault(daemon.session, []).append(daemon)
    for worker in here.workers:
        if worker.folder and worker.raylet is None:
            sessions.setdefault(worker.session, [])
    return sessions
