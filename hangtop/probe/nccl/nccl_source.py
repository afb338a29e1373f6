"""The NCCL source: NCCL's RAS port, and the flight recorder dumps of the ranks. Both are optional, neither touches the run.

All jobs of a machine share a port and a file prefix, so only what is proven to be the run's is read: a port that a process of the
run holds, and dumps of its own ranks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from hangtop.probe.context import ProbeContext
from hangtop.probe.nccl import flight_recorder, ras
from hangtop.probe.nccl.dump_ownership import Dumps, dumps_of, fifo_of
from hangtop.probe.nccl.rank_environments import RankEnvironments
from hangtop.probe.source import Absent, Source, SourceError
from hangtop.records.ask import FlightAsk
from hangtop.records.nccl import Communicator, NcclReading
from hangtop.records.process import Process
from hangtop.records.reading import Value
from hangtop.system.network.port_owner import Listener, PortOwners
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import Identity
from hangtop.system.processes.users import Users

MOST_PORTS = 4
AGAIN_S = 10.0
SECOND_READ_S = 1.0
WAIT_FOR_MEMBERS_S = 0.2
DUMP_WAIT_S = 4.0
DUMP_POLL_S = 0.5
CLOCK_ERROR_S = 0.1
NOTHING = "no NCCL RAS port at {address} (NCCL 2.24 and later open it), and no flight recorder dump"
NO_MEMBERS = "no process of the run is known here: NCCL's port and the dumps on this machine may be another job's"
NO_PROCS = "which processes are the run's is told by the source procs, which --sources leaves out"


class PortAnswer(Struct, frozen=True):
    """The answer of one port. `note`: why it tells nothing. `failed`: it is the run's, but could not be read."""

    communicators: tuple[Communicator, ...] = ()
    version: str | None = None
    note: str | None = None
    failed: bool = False


class NcclSource(Source):
    """Reads the run's RAS port and dumps every 10 s: a RAS query makes all processes of the job answer. The second read comes
    soon, because only two tell a stuck rank from one that is about to launch."""

    deadline_s = MOST_PORTS * ras.LIMIT_S + 2.0

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._table = open_table()
        self._environments = RankEnvironments(self._table)
        self._owners = PortOwners(self._table)
        self._users = Users()
        self._reads = 0

    @property
    def interval_s(self) -> float:
        if self._context.members is None:
            return WAIT_FOR_MEMBERS_S
        return SECOND_READ_S if self._reads == 1 else AGAIN_S

    def read(self, now: float) -> Iterable[Value]:
        members = self._context.members
        if members is None and "procs" in self._context.spec.sources:
            return
        if not members:
            raise Absent(NO_PROCS if members is None else NO_MEMBERS)
        self._refresh(now)
        dumps = self._dumps(members)
        addresses = ras_addresses(self._environments.of(members))
        told = [said for address in addresses if (said := self._ask(address, members)) is not None]
        notes = "; ".join(note for note in (*(said.note for said in told), dumps.note) if note) or None
        if not dumps.own and all(said.note for said in told):
            if any(said.failed for said in told):
                raise SourceError(notes or "")
            raise Absent(notes or NOTHING.format(address=" ".join(f"{host}:{port}" for host, port in addresses)))
        communicators = tuple(each for said in told for each in said.communicators)
        self._reads += bool(communicators)
        yield NcclReading(now, communicators, dumps.own, next((said.version for said in told if said.version), None), notes)

    def answer(self, ask: FlightAsk, now: float) -> Iterable[Value]:
        """Ask these ranks for their dumps, if they have a FIFO, and return the dumps that come. Only ranks of the run are
        asked."""
        members = self._context.members or ()
        if not members:
            return
        self._refresh(now)
        ranks = self._environments.ranks(member for member in members if member.pid in ask.pids)
        fifos = [fifo for rank in ranks if (fifo := fifo_of(rank)) is not None]
        if not [fifo for fifo in fifos if flight_recorder.request(fifo)]:
            return
        began = time.monotonic()
        while time.monotonic() - began < DUMP_WAIT_S:
            time.sleep(DUMP_POLL_S)
            found = self._dumps(members).own
            if dumps := tuple(dump for dump in found if dump.at >= now - CLOCK_ERROR_S and not dump.problem):
                yield NcclReading(now + time.monotonic() - began, dumps=dumps)
                return

    def _refresh(self, now: float) -> None:
        self._table.refresh(())
        self._environments.refresh(now)

    def _dumps(self, members: Sequence[Process]) -> Dumps:
        ranks = self._environments.ranks(members)
        world = max((member.world or 0 for member in members), default=0)
        return dumps_of(ranks, self._environments.strangers(members), world)

    def _ask(self, address: tuple[str, int], members: Sequence[Process]) -> PortAnswer | None:
        """The answer of the port: `None` if nothing listens, a note if it is another job's or cannot be read."""
        listener = self._owners.of(address, [Identity(member.pid, member.start_ticks) for member in members])
        where = f"{address[0]}:{address[1]}"
        if listener.owner == "nobody":
            return None
        if listener.owner == "another":
            return PortAnswer(note=f"RAS answers at {where}, but for another job ({self._named(listener)})")
        try:
            communicators, version = ras.read(ras.query(address))
        except ConnectionError:
            return None
        except (OSError, ras.RasError) as error:
            return PortAnswer(note=f"NCCL's RAS port at {where}: {error}", failed=listener.owner == "the run")
        if listener.owner == "hidden" and not are_of_run(communicators, members):
            return PortAnswer(note=f"RAS answers at {where}, but names no process of this run")
        return PortAnswer(communicators, version)

    def _named(self, listener: Listener) -> str:
        user = self._users.name(listener.uid) or "unknown"
        return f"a process of user {user}" if listener.pid is None else f"pid {listener.pid} of user {user}"


def are_of_run(communicators: Iterable[Communicator], members: Iterable[Process]) -> bool:
    """Whether these communicators are the run's: every local rank of the run is in them."""
    told = {rank.pid for communicator in communicators for rank in communicator.ranks}
    ranks = {member.pid for member in members if member.role in ("rank", "ray worker")}
    return bool(ranks) and ranks <= told


def ras_addresses(environs: Iterable[Mapping[str, str]]) -> tuple[tuple[str, int], ...]:
    """Where RAS listens, by the environments of the run's processes, else NCCL's default."""
    told = dict.fromkeys(address for environ in environs if (address := ras_address(environ)))
    return tuple(told)[:MOST_PORTS] or (ras.ADDRESS,)


def ras_address(env: Mapping[str, str]) -> tuple[str, int] | None:
    """The RAS address in this environment: `host:port` or `[v6]:port`."""
    host, _, port = env.get("NCCL_RAS_ADDR", "").rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdecimal() and 0 < int(port) < 65536 else None
