"""One typed, immutable result of a source. A recording is a file of these, one JSON line each."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.ask import AskEnd
from hangtop.records.changed import Changed
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.gpu import GpuReading
from hangtop.records.health import Heartbeat, ProbeState, Rewind
from hangtop.records.host import HostReading
from hangtop.records.launch import LaunchReading
from hangtop.records.leftovers import LeftoversReading
from hangtop.records.log import LogReading, PageReading
from hangtop.records.nccl import NcclReading
from hangtop.records.process import ProcessReading
from hangtop.records.ray.cluster import RayDaemons, RayReading
from hangtop.records.ray.remote_workers import ActorLogReading, RemoteStacksReading
from hangtop.records.ray.session import RaySession
from hangtop.records.runs import RunsReading
from hangtop.records.stack import StacksReading

Value = (
    LogReading
    | PageReading
    | ProcessReading
    | GpuReading
    | HostReading
    | RunsReading
    | CheckpointReading
    | StacksReading
    | NcclReading
    | RayReading
    | RayDaemons
    | RaySession
    | ActorLogReading
    | RemoteStacksReading
    | LeftoversReading
    | LaunchReading
    | AskEnd
    | Heartbeat
    | ProbeState
    | Rewind
    | Changed
)


class Reading(Struct, frozen=True, omit_defaults=True):
    """`at`: unix time on `host` when the value was read. A source with nothing new sends nothing: see `Heartbeat`."""

    source: str
    host: str
    at: float
    value: Value
