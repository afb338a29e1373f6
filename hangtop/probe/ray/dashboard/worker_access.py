"""The place of a Ray worker on another node, and how the node is reached. Pure except for the given callables."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.poll import ApiView
from hangtop.probe.ray.dashboard.ray_python import RayPython
from hangtop.probe.ray.dashboard.token import AuthToken


class ClusterAccess(Struct, frozen=True):
    """How a cluster is asked. `python`: Ray's own, if a raylet is on this machine. `view`: its last answers. `owner`: user id
    whose process must listen at its address on this machine."""

    session: str
    dashboard: str | None
    find_token: Callable[[], AuthToken | None]
    view: Callable[[], ApiView]
    python: RayPython | None = None
    owner: int | None = None


class WorkerPlace(Struct, frozen=True):
    """A worker on its node. `agent`: `host:port` of the node's agent; `None` without an HTTP port."""

    node: str
    host: str
    pid: int
    worker: str
    job: str
    folder: str
    agent: str | None = None

    def file(self, stream: str) -> str:
        """The name of its output file (python/ray/_private/utils.py, `get_worker_log_file_name`)."""
        return f"worker-{self.worker}-{self.job}-{self.pid}.{stream}"

    def path(self, stream: str) -> str:
        return f"{self.folder}/logs/{self.file(stream)}"


def place_of(actor: api_schema.Actor, view: ApiView) -> WorkerPlace | None:
    """The place of this actor's worker; `None` while it has none, or its node is unknown."""
    address, pid = actor.address, actor.pid or 0
    seen = view.nodes.get(address.node)
    if seen is None or not pid or address.worker_id in api_schema.NIL:
        return None
    raylet, ip = seen.summary.raylet, seen.summary.ip or address.ip_address
    port = api_schema.number(raylet.dashboard_agent_listen_port)
    host = f"[{ip}]" if ":" in ip else ip
    return WorkerPlace(
        address.node,
        seen.summary.hostname or ip,
        pid,
        address.worker_id,
        actor.job_id,
        raylet.session_dir.rstrip("/"),
        f"{host}:{port}" if port > 0 and ip else None,
    )


def place_by_id(actor_id: str, view: ApiView) -> WorkerPlace | None:
    """The same, for the actor of this id."""
    actor = next((actor for actor in view.actors if actor.actor_id == actor_id), None)
    return None if actor is None else place_of(actor, view)
