"""The collectives by NCCL and torch's flight recorder: how many each rank has launched, and which ranks do not answer."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

CommStatus = Literal["ok", "init", "error", "finalizing", "aborted", "missing", "dead"]
"""`missing`: its process does not answer NCCL's own threads; `dead`: it has not for a minute."""


class CommRank(Struct, frozen=True, omit_defaults=True):
    """One member of a communicator. `rank`: within the communicator. `counts`: launched collectives by operation, if NCCL
    tells."""

    rank: int
    pid: int | None = None
    host: str | None = None
    gpu: int | None = None
    status: CommStatus = "ok"
    counts: dict[str, int] = {}


class Communicator(Struct, frozen=True, omit_defaults=True):
    """One communicator. `ranks`: all members; with NCCL before 2.28 only those that differ from the majority (`most`)."""

    id: str
    size: int | None = None
    ranks: tuple[CommRank, ...] = ()
    most: dict[str, int] = {}


class FlightGroup(Struct, frozen=True, omit_defaults=True):
    """One process group in the flight recorder's dump of one rank: sequence numbers of its collectives. Each backend (`nccl`,
    `gloo`) counts its own; empty where the dump does not tell. `called_at`: when the last of them was called, in unix
    time there."""

    id: str
    name: str = ""
    enqueued: int | None = None
    completed: int | None = None
    operation: str | None = None
    state: str | None = None
    sizes: str | None = None
    backend: str = ""
    called_at: float | None = None


class FlightDump(Struct, frozen=True, omit_defaults=True):
    """The flight recorder's dump of one rank, from a file written at unix time `at`, or `asked` of the rank itself; then `path`
    is where it answers."""

    rank: int
    path: str
    at: float
    groups: tuple[FlightGroup, ...] = ()
    asked: bool = False
    problem: str | None = None


class NcclReading(Struct, frozen=True, omit_defaults=True, tag="nccl"):
    """One sample: the communicators known to NCCL's RAS threads of the run, and the dumps of its ranks. `note`: a port or file
    found instead that is another job's, or cannot be read."""

    at: float = 0.0
    communicators: tuple[Communicator, ...] = ()
    dumps: tuple[FlightDump, ...] = ()
    version: str | None = None
    note: str | None = None


LOOKS_KEPT = 2
"""Two samples tell a rank that is behind from a rank that is stuck."""


def add_look(looks: tuple[NcclReading, ...], reading: NcclReading) -> tuple[NcclReading, ...]:
    """The last samples, latest last. A reading with dumps alone is added to the sample before it. Dumps in files and those that
    the ranks were asked for come from two sources: each replaces its own."""
    asked = any(dump.asked for dump in reading.dumps)
    others = tuple(dump for dump in (looks[-1].dumps if looks else ()) if dump.asked is not asked)
    dumps = (*others, *reading.dumps)
    if looks and not reading.communicators:
        return (*looks[:-1], replace(looks[-1], dumps=dumps, note=looks[-1].note if asked else reading.note))
    return (*looks, replace(reading, dumps=dumps))[-LOOKS_KEPT:]
