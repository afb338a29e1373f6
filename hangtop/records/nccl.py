"""What NCCL and torch's flight recorder say of the collectives: how many each rank has launched, and who cannot be reached."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

CommStatus = Literal["ok", "init", "error", "finalizing", "aborted", "missing", "dead"]
"""`missing`: its process did not answer NCCL's own threads; `dead`: not for a minute."""


class CommRank(Struct, frozen=True, omit_defaults=True):
    """One member of a communicator, by its rank in there. `counts`: launched collectives by operation, where they are told."""

    rank: int
    pid: int | None = None
    host: str | None = None
    gpu: int | None = None
    status: CommStatus = "ok"
    counts: dict[str, int] = {}


class Communicator(Struct, frozen=True, omit_defaults=True):
    """One communicator. `ranks` are all members, or of NCCL before 2.28 only those that differ from the most."""

    id: str
    size: int | None = None
    ranks: tuple[CommRank, ...] = ()
    most: dict[str, int] = {}


class FlightGroup(Struct, frozen=True, omit_defaults=True):
    """One process group in the flight recorder's dump of one rank: sequence numbers of its collectives."""

    id: str
    name: str = ""
    enqueued: int | None = None
    completed: int | None = None
    operation: str | None = None
    state: str | None = None
    sizes: str | None = None


class FlightDump(Struct, frozen=True, omit_defaults=True):
    """The flight recorder's dump of one rank, from a file that was written at `at`."""

    rank: int
    path: str
    at: float
    groups: tuple[FlightGroup, ...] = ()
    problem: str | None = None


class NcclReading(Struct, frozen=True, omit_defaults=True, tag="nccl"):
    """One look: the communicators that NCCL's RAS threads of the run know of, and the dumps of its ranks. `note`: what lies or
    listens in their place and is another job's, or cannot be read."""

    at: float = 0.0
    communicators: tuple[Communicator, ...] = ()
    dumps: tuple[FlightDump, ...] = ()
    version: str | None = None
    note: str | None = None


LOOKS_KEPT = 2
"""Two looks tell a rank that is behind from one that is stuck."""


def add_look(looks: tuple[NcclReading, ...], reading: NcclReading) -> tuple[NcclReading, ...]:
    """The last looks, latest last. One that tells of dumps alone belongs to the look before it."""
    if looks and not reading.communicators:
        return (*looks[:-1], replace(looks[-1], dumps=reading.dumps, note=reading.note))
    return (*looks, reading)[-LOOKS_KEPT:]
