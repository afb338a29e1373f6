"""One cluster as one record, from local processes and the answers of its dashboard."""

from __future__ import annotations

import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Sequence, Set

from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.diagnosis.facts.ray_health import STALE_AFTER_S
from hangtop.probe.ray.actor_records import ActorJoin, FirstSeen, cut_to
from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.http import Dashboard
from hangtop.probe.ray.dashboard.node_logs import STREAMS, NodeLogs, RemoteLog, place_of
from hangtop.probe.ray.dashboard.poll import ApiView, DashboardPoll, NodeView
from hangtop.probe.ray.dashboard.ray_python import RayPython
from hangtop.probe.ray.dashboard.state_tables import GcsTables
from hangtop.probe.ray.dashboard.token import AuthToken
from hangtop.probe.ray.local.daemons import Daemon, addresses_of, missing_daemons, without_secrets
from hangtop.probe.ray.local.ray_processes import LocalWorker, RayProcesses
from hangtop.records.ray.cluster import PlacementGroup, RayCluster, RayDriver, RayJob, RayNode, RayPart
from hangtop.system.processes.users import Users

MOST_ACTORS = 2_048
MOST_GROUPS = 64
LONGEST_COMMAND = 300
ORPHAN_AFTER_S = 3.0
"""A worker ends within a second of its raylet, when all is well."""
NOTHING_HERE = RayProcesses()
_LOGICAL = re.compile(r"(?P<used>[\d.]+)(?P<u>[KMGTP]?i?B)?/(?P<total>[\d.]+)(?P<t>[KMGTP]?i?B)? (?P<name>\S(?:[^\n(]*[^\s(])?)")
_UNITS = {None: 1.0, "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}


class Cluster:
    """One session, or a far cluster with no process here (`session` is empty), read again and again.

    Other threads may read `name`, `view`, `logs`, `poll` and `python`: each is replaced as a whole.
    """

    def __init__(self, session: str, find_token: Callable[[], AuthToken | None]) -> None:
        self.session = session
        self.poll: DashboardPoll | None = None
        self.view = ApiView()
        """What the dashboard or the tables told last."""
        self.python: RayPython | None = None
        """Ray's own Python, asked when the dashboard is missing or not understood."""
        self.find_token = find_token
        self.logs = NodeLogs(None, find_token)
        self._far_logs: dict[tuple[str, str], tuple[RemoteLog, ...]] = {}
        self._tables = GcsTables()
        self._first_seen = FirstSeen()
        self._users = Users()
        self._ended_at: float | None = None

    @property
    def name(self) -> str:
        """Its session; without a process here, as its dashboard calls it."""
        return self.session or self.view.session

    def use_dashboard(self, address: str, owner: int | None = None) -> Cluster:
        """Ask the dashboard at this `host:port` from now on. `owner`: user id of the cluster, where that is known."""
        if self.poll is None or self.poll.dashboard.address != address:
            self.close()
            self.poll = DashboardPoll(Dashboard(address, self.find_token, owner=owner))
            self.logs = NodeLogs(address, self.find_token, owner)
        return self

    def far_logs(self, actor_id: str) -> Sequence[RemoteLog]:
        """The two output files of an actor's worker on another node; none while its place is not known."""
        place = place_of(actor_id, self.view)
        if place is None:
            return ()
        key = (place.node, place.worker)
        if key not in self._far_logs:
            self._far_logs[key] = tuple(RemoteLog(place, stream, self.logs) for stream in STREAMS)
        return self._far_logs[key]

    def read(
        self, daemons: Sequence[Daemon], workers: Sequence[LocalWorker], now: float, here: RayProcesses = NOTHING_HERE
    ) -> RayCluster:
        """The cluster at unix time `now`. `daemons`: of its session, also those that ended. `here`: all of Ray here."""
        alive = [daemon for daemon in daemons if daemon.gone_at is None]
        ended = bool(daemons) and not alive and not workers
        self._ended_at = (self._ended_at or now) if ended else None
        if not ended:
            self.view = self._tables.fill(self.poll.read(now) if self.poll else ApiView(), self.python, now)
        view = self.view
        raylets = [d for d in alive if d.kind == "raylet" and d.state != "Z"]
        nodes = {d.pid: node for d in raylets if (node := d.node or _node_of(d, view)) is not None}
        local = set(nodes.values())
        join = ActorJoin(workers, nodes, here.pids, view, self._first_seen, now)
        actors = join.actors()
        alone = [worker for worker in workers if worker.raylet is None and worker.state != "Z"]
        orphans = tuple(w.pid for w in alone if join.lasts(("parent", w.identity), True, ORPHAN_AFTER_S))
        parts = tuple(_part(daemon, join) for daemon in daemons)
        self._first_seen.turn()
        uid = daemons[0].uid if daemons else None
        return RayCluster(
            session=self.name,
            folder=next((d.folder for d in daemons if d.folder), None),
            gcs_address=next((d.gcs_address for d in daemons if d.gcs_address), None),
            uid=uid,
            user=self._users.name(uid),
            api=view.api,
            parts=parts,
            actors=cut_to(actors, MOST_ACTORS),
            actors_total=len(actors),
            drivers=_drivers(view, local),
            past_jobs=_past_jobs(view),
            nodes=tuple(_node(node, seen, view.logical.get(node, ""), local=node in local) for node, seen in view.nodes.items()),
            groups=_groups(view.groups),
            demand=view.demand,
            orphans=orphans,
            ended_at=self._ended_at,
            addresses=addresses_of(daemons, socket.gethostname()) or tuple(filter(None, [view.api.address])),
            hidden=uid not in (None, os.geteuid()) and os.geteuid() != 0,
            missing=missing_daemons(daemons),
            starting_at=max((here.starting[d.pid] for d in raylets if d.pid in here.starting), default=None),
        )

    def jobs_told(self) -> dict[int, str]:
        """The job of each worker by its pid, as the agents of the nodes told last."""
        return {stats.pid: stats.job_id for seen in self.view.nodes.values() for stats in seen.workers if stats.job_id}

    def close(self) -> None:
        """End its child, and let go of all connections."""
        self._tables.close()
        self.logs.close()
        if self.poll:
            self.poll.dashboard.close()


def _part(daemon: Daemon, join: ActorJoin) -> RayPart:
    """The daemon as a part of its cluster. In state D it counts as blocked only after all reads of a while saw it there: any
    process that reads a disk is in D now and then."""
    part, blocked = daemon.part(), daemon.state == "D"
    lasting = join.lasts(("daemon", daemon.identity), blocked, STALE_AFTER_S)
    return replace(part, state="S") if blocked and not lasting else part


def _node_of(raylet: Daemon, view: ApiView) -> str | None:
    """The node of this raylet, by its address and socket."""
    told = ((node, (seen.summary.ip, seen.summary.raylet.raylet_socket_name)) for node, seen in view.nodes.items())
    return next((node for node, socket in told if socket == raylet.socket and all(socket)), None)


def _drivers(view: ApiView, here: Set[str]) -> tuple[RayDriver, ...]:
    """From the pages of the nodes; of an older Ray, which leaves them out there, from its jobs."""
    told = tuple(
        RayDriver(stats.job_id, stats.pid, node, _command(stats.command), node in here, stats.create_time)
        for node, seen in view.nodes.items()
        for stats in seen.workers
        for core in stats.core_worker_stats
        if core.worker_type == "DRIVER"
    )
    return told or tuple(_of_job(job, job.driver_info, view, here) for job in view.jobs if job.driver_info and job.runs)


def _past_jobs(view: ApiView) -> tuple[RayJob, ...]:
    """Of which actors are left."""
    living = {actor.job_id for actor in view.actors.values() if actor.state == "ALIVE"}
    past = [job for job in view.jobs if not job.runs and job.job_id in living]
    return tuple(RayJob(job.job_id or "", api_schema.number(job.start_time) / 1000) for job in past)


def _of_job(job: api_schema.Job, driver: api_schema.DriverInfo, view: ApiView, here: Set[str]) -> RayDriver:
    """A job knows its driver by address and pid. Several nodes may have the address of this machine."""
    nodes = [node for node, seen in view.nodes.items() if seen.summary.ip == driver.node_ip_address]
    node = min(nodes, key=lambda node: node not in here, default="")
    return RayDriver(job.job_id or "", api_schema.number(driver.pid), node, _command(job.entrypoint), local=node in here)


def _command(line: str) -> str:
    return without_secrets(clean_text(line))[:LONGEST_COMMAND]


def _node(node: str, seen: NodeView, logical: str, *, local: bool) -> RayNode:
    facts = seen.detail or seen.summary
    raylet = seen.summary.raylet
    used, total = logical_resources(logical)
    return RayNode(
        id=node,
        host=clean_text(seen.summary.hostname) or clean_text(seen.summary.ip) or node[:8],
        ip=seen.summary.ip,
        alive=raylet.state == "ALIVE",
        head=raylet.is_head_node,
        local=local,
        moved_at=seen.moved_at if seen.summary.now is not None else None,
        death="" if raylet.state == "ALIVE" else clean_text(raylet.state_message or ""),
        cpu_percent=facts.cpu,
        memory_bytes=int(facts.mem[0]) if len(facts.mem) > 3 else None,
        memory_used_bytes=int(facts.mem[3]) >> 20 << 20 if len(facts.mem) > 3 else None,
        workers=len(facts.workers or ()),
        used=used,
        total=total,
    )


def logical_resources(text: str) -> tuple[dict[str, float], dict[str, float]]:
    """(used, total) of a node's `nodeLogicalResources`: `0.0/4.0 CPU`, a line each; memory in bytes. Behind the name may stand
    `(1.0 used of 2.0 reserved in placement groups)` (ray/autoscaler/_private/util.py)."""
    used, total = {}, {}
    for match in _LOGICAL.finditer(text):
        used[match["name"]] = float(match["used"]) * _UNITS.get(match["u"], 1.0)
        total[match["name"]] = float(match["total"]) * _UNITS.get(match["t"], 1.0)
    return used, total


def _groups(groups: Sequence[api_schema.PlacementGroupRow]) -> tuple[PlacementGroup, ...]:
    """The groups that are not placed; equal bundles are counted."""
    waiting = [group for group in groups if group.waits]
    return tuple(
        PlacementGroup(
            group.placement_group_id,
            clean_text(group.name or ""),
            infeasible=group.stats is not None and group.stats.scheduling_state == "INFEASIBLE",
            bundles=tuple((dict(bundle), count) for bundle, count in Counter(map(_sorted, group.bundles or ())).items()),
            since=api_schema.number(group.stats.creation_request_received_ns) / 1e9 or None if group.stats else None,
        )
        for group in waiting[:MOST_GROUPS]
    )


def _sorted(bundle: api_schema.Bundle) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(bundle.unit_resources.items()))
