"""What the dashboard of Ray answers, as far as hangtop reads it (Ray 2.9 to 2.60). Field names are Ray's own, in camel case.

Everything has a default: a field that a version does not have reads as "not known". Numbers come as text in places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

Data = TypeVar("Data")
ApiNumber = int | float | str | None
_FIRST_WORD = re.compile(rb'\s*\[\s*("(?:[^"\\]|\\.)*")')


class ApiRecord(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Base of all: unknown fields are ignored. `gc=False`: there are thousands, and never a cycle among them."""


class MemoryInfo(ApiRecord, frozen=True, gc=False):
    rss: float = 0


class CoreStats(ApiRecord, frozen=True, gc=False):
    """What a worker's raylet tells of it."""

    actor_id: str = ""
    worker_id: str = ""
    worker_type: str = ""
    num_running_tasks: ApiNumber = None
    num_pending_tasks: ApiNumber = None
    used_resources: Mapping[str, Any] | None = None


class WorkerStats(ApiRecord, frozen=True, gc=False):
    """What a node's agent tells of a worker process. `cmdline`: its title, padded with some 250 empty words, hence unparsed."""

    pid: int = 0
    create_time: float | None = None
    cpu_percent: float | None = None
    cmdline: msgspec.Raw = msgspec.Raw(b"[]")
    memory_info: MemoryInfo | None = None
    job_id: str = ""
    gpu_memory_usage: ApiNumber = None
    core_worker_stats: tuple[CoreStats, ...] = ()

    @property
    def title(self) -> str:
        """The first word of its command line."""
        first = _FIRST_WORD.match(bytes(self.cmdline))
        return str(msgspec.json.decode(first[1])) if first else ""

    @property
    def command(self) -> str:
        """All words of its command line."""
        words = msgspec.json.decode(self.cmdline)
        return " ".join(str(word) for word in words if word) if isinstance(words, list) else ""


NIL = frozenset({"", "f" * 56, "f" * 32})
"""Ids of nothing: of a node or worker, and of an actor."""


class Address(ApiRecord, frozen=True, gc=False):
    """`raylet_id`: how older versions call the node's id (2.38 does, 2.49 does not)."""

    node_id: str = ""
    raylet_id: str = ""
    ip_address: str = ""
    worker_id: str = ""

    @property
    def node(self) -> str:
        return self.node_id or self.raylet_id


class Actor(ApiRecord, frozen=True, gc=False):
    """An entry of `/logical/actors`. Times are unix milliseconds. `exitDetail` is `-` while it lives. Title, CPU and memory are
    taken from the node's own answer instead."""

    actor_id: str
    state: str = ""
    name: str = ""
    class_name: str = ""
    job_id: str = ""
    pid: int | None = None
    num_restarts: ApiNumber = None
    start_time: ApiNumber = None
    end_time: ApiNumber = None
    exit_detail: str | None = None
    required_resources: dict[str, float] | None = None
    address: Address = Address()

    @property
    def starts(self) -> bool:
        """A process for it is wanted, or is being constructed."""
        return self.state in ("PENDING_CREATION", "RESTARTING")

    @property
    def died_untold(self) -> bool:
        """It is dead, and this list does not say why."""
        return self.state == "DEAD" and self.exit_detail in (None, "", "-")

    @property
    def waits(self) -> bool:
        """It has no process yet, and may never get one."""
        return self.state in ("PENDING_CREATION", "DEPENDENCIES_UNREADY")


class Raylet(ApiRecord, frozen=True, gc=False):
    node_id: str = ""
    state: str = ""
    state_message: str | None = None
    is_head_node: bool = False
    session_dir: str = ""
    raylet_socket_name: str = ""
    dashboard_agent_listen_port: ApiNumber = None


class Node(ApiRecord, frozen=True, gc=False):
    """`now`: the node's own clock when its agent wrote this report, the proof that it still reports. Memory: total, available,
    percent, used."""

    now: float | None = None
    hostname: str = ""
    ip: str = ""
    cpu: float | None = None
    mem: tuple[float, ...] = ()
    raylet: Raylet = Raylet()
    workers: tuple[WorkerStats, ...] | None = ()


class Summary(ApiRecord, frozen=True, gc=False):
    summary: tuple[Node, ...]
    node_logical_resources: dict[str, str] = {}


class Bundle(msgspec.Struct, frozen=True, gc=False):
    unit_resources: dict[str, float] = {}


class GroupStats(msgspec.Struct, frozen=True, gc=False):
    scheduling_state: str = ""
    creation_request_received_ns: ApiNumber = None


class PlacementGroupRow(msgspec.Struct, frozen=True, gc=False):
    placement_group_id: str
    name: str | None = ""
    state: str = ""
    bundles: tuple[Bundle, ...] | None = ()
    stats: GroupStats | None = None

    @property
    def waits(self) -> bool:
        return self.state in ("PENDING", "RESCHEDULING")


class StateRow(msgspec.Struct, frozen=True, gc=False):
    """A row of `/api/v0/actors?detail=1` or `/api/v0/tasks?detail=1`."""

    actor_id: str | None = None
    worker_id: str | None = None
    start_time_ms: ApiNumber = None
    creation_time_ms: ApiNumber = None
    death_cause: Mapping[str, Any] | None = None
    serialized_runtime_env: str | None = None

    @property
    def death_words(self) -> str:
        """Ray's reason of a death in full: each kind has a record of its own, with the text under one of these names."""
        records = [record for record in (self.death_cause or {}).values() if isinstance(record, Mapping)]
        said = (str(record[name]) for record in records for name in DEATH_TEXTS if record.get(name))
        return next(said, "")


DEATH_TEXTS = ("formatted_exception_string", "error_message")
"""Where the records of `ActorDeathCause` keep their text (src/ray/protobuf/common.proto)."""


class RuntimeEnv(msgspec.Struct, frozen=True):
    """A `serialized_runtime_env`."""

    env_vars: dict[str, str] | None = None


class LoadReport(ApiRecord, frozen=True, gc=False):
    resource_demand: tuple[tuple[dict[str, float], int], ...] = ()


class ClusterLoad(ApiRecord, frozen=True, gc=False):
    load_metrics_report: LoadReport | None = None


class Status(ApiRecord, frozen=True, gc=False):
    cluster_status: ClusterLoad | None = None


class Version(msgspec.Struct, frozen=True, gc=False):
    """`/api/version`, an answer without an envelope."""

    ray_version: str = ""
    session_name: str = ""


class DriverInfo(msgspec.Struct, frozen=True, gc=False):
    node_ip_address: str = ""
    pid: ApiNumber = None


class Job(msgspec.Struct, frozen=True, gc=False):
    """An entry of `/api/jobs/`, an answer without an envelope. `job_id` is `None` before its driver joined. `start_time`: in
    milliseconds of unix time."""

    job_id: str | None = None
    status: str = ""
    entrypoint: str = ""
    driver_info: DriverInfo | None = None
    start_time: ApiNumber = None

    @property
    def runs(self) -> bool:
        return self.status == "RUNNING"


def data_of(body: bytes, shape: type[Data], *path: str) -> Data:
    """What stands at this path in the `data` of an answer. Raises `msgspec.DecodeError` for an unknown shape."""
    found: msgspec.Raw | bytes = body
    for name in ("data", *path):
        inside = _decoded(found, dict[str, msgspec.Raw])
        if name not in inside:
            raise msgspec.DecodeError(f"no `{name}`")
        found = inside[name]
    return _decoded(found, shape)


def _decoded(body: bytes | msgspec.Raw, shape: type[Data]) -> Data:
    """Raises `msgspec.DecodeError` also where a text is not UTF-8."""
    try:
        return msgspec.json.decode(body, type=shape, strict=False)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"not UTF-8: {error.reason}") from error


def jobs_of(body: bytes) -> tuple[Job, ...]:
    """The jobs that have, or had, a driver. Raises `msgspec.DecodeError`."""
    jobs = _decoded(body, tuple[Job, ...])
    return tuple(job for job in jobs if job.job_id and job.driver_info)


def rows_of(body: bytes, shape: type[Data]) -> tuple[Data, ...]:
    """The rows of a state API answer. Raises `msgspec.DecodeError`."""
    rows = data_of(body, tuple[msgspec.Raw, ...], "result", "result")
    return tuple(_decoded(row, shape) for row in rows)


def number(value: ApiNumber) -> int:
    """A count that may come as text; not known is 0."""
    return int(float(value)) if value not in (None, "") else 0
