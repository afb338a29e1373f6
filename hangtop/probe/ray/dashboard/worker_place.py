"""Where the worker of an actor is, and what its output files are called there. Pure."""

from __future__ import annotations

from msgspec import Struct

from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.poll import ApiView

STREAMS = ("out", "err")
"""Each worker has two output files; tqdm bars go to `err`."""


class WorkerPlace(Struct, frozen=True):
    """A worker on its node. `agent`: `host:port` of the node's agent, `None` where it has no HTTP port."""

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
        return f"{self.host}:{self.folder}/logs/{self.file(stream)}"


def place_of(actor_id: str, view: ApiView) -> WorkerPlace | None:
    """The place of this actor's worker; `None` while it has none, or its node is not known any more."""
    actor = view.actors.get(actor_id)
    seen = view.nodes.get(actor.address.node) if actor else None
    if actor is None or seen is None or not actor.pid or actor.address.worker_id in api_schema.NIL:
        return None
    raylet, ip = seen.summary.raylet, seen.summary.ip or actor.address.ip_address
    port = api_schema.number(raylet.dashboard_agent_listen_port)
    return WorkerPlace(
        node=actor.address.node,
        host=seen.summary.hostname or ip,
        pid=actor.pid,
        worker=actor.address.worker_id,
        job=actor.job_id,
        folder=raylet.session_dir.rstrip("/"),
        agent=f"{f'[{ip}]' if ':' in ip else ip}:{port}" if port > 0 and ip else None,
    )
