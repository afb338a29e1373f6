"""One typed, immutable result of a source. A recording is a file of these."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hangtop.records.ask import AskEnd
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.gpu import GpuReading
from hangtop.records.health import Heartbeat, ProbeState, Rewind
from hangtop.records.host import HostReading
from hangtop.records.host_signals import HostSignals
from hangtop.records.inspection import Inspection
from hangtop.records.launch import LaunchReading
from hangtop.records.log import LogReading, PageReading
from hangtop.records.nccl import NcclReading
from hangtop.records.plan import LeftoversReading
from hangtop.records.process import ProcessReading
from hangtop.records.ray.cluster import RayDaemons, RayReading
from hangtop.records.ray.remote_workers import ActorLogReading, RemoteStacksReading
from hangtop.records.ray.session import RaySession
from hangtop.records.runs import RunsReading
from hangtop.records.stack import StacksReading
from hangtop.records.torch_debug import TorchDebugReading
from hangtop.records.watched_waits import WaitsReading


class Changed(Struct, frozen=True, tag="changed"):
    """The difference to the previous reading of its kind, in recordings of older hangtops. `kind`: its tag. `since`: `at` of the
    previous reading. `parts`, by field name, or by index in a list of records: `[new]` for another value, `null` for a field that
    is back at its default, or a dict with the parts of a record."""

    kind: str
    since: float
    parts: dict[str, Any]


Value = (
    LogReading
    | PageReading
    | ProcessReading
    | GpuReading
    | HostReading
    | HostSignals
    | RunsReading
    | CheckpointReading
    | StacksReading
    | WaitsReading
    | Inspection
    | NcclReading
    | RayReading
    | RayDaemons
    | RaySession
    | ActorLogReading
    | RemoteStacksReading
    | TorchDebugReading
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
