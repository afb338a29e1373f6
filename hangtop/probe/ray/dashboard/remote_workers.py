"""The output files of a run's workers on other nodes, each opened once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.node_logs import NodeLogs
from hangtop.probe.ray.dashboard.remote_log import RemoteLog
from hangtop.probe.ray.dashboard.worker_access import ClusterAccess, place_of
from hangtop.records.ray import RayActor

STREAMS = ("out", "err")


class RemoteWorkers:
    """For the thread of the Ray source."""

    def __init__(self) -> None:
        self.access: Mapping[str, ClusterAccess] = {}
        """The present clusters, by session."""
        self._logs: dict[tuple[str, str | None], NodeLogs] = {}
        self._files: dict[tuple[str, str], tuple[RemoteLog, ...]] = {}
        self._actors: dict[str, tuple[tuple[api_schema.Actor, ...], dict[str, api_schema.Actor]]] = {}

    def logs_of(self, session: str, actor: RayActor) -> Sequence[RemoteLog]:
        """The two output files of an actor's worker; none while its place is not known."""
        access = self.access.get(session)
        if access is None or actor.id is None:
            return ()
        told = self._by_id(session, access).get(actor.id)
        place = place_of(told, access.view()) if told is not None else None
        if place is None:
            return ()
        key = (place.node, place.worker)
        if key not in self._files:
            logs = self._logs.setdefault((session, access.dashboard), NodeLogs(access))
            self._files[key] = tuple(RemoteLog(place, stream, logs) for stream in STREAMS)
        return self._files[key]

    def close(self) -> None:
        for logs in self._logs.values():
            logs.close()

    def _by_id(self, session: str, access: ClusterAccess) -> dict[str, api_schema.Actor]:
        actors = access.view().actors
        known = self._actors.get(session)
        if known is None or known[0] is not actors:
            self._actors[session] = known = (actors, {actor.actor_id: actor for actor in actors})
        return known[1]
