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
from hangtop.probe.nccl.dump_ownership import Dumps, RankProcess, dumps_of, fifo_of
from hangtop.probe.source import Absent, Source, SourceError
from hangtop.records.ask import FlightAsk
from hangtop.records.nccl import Communicator, NcclReading
from hangtop.records.process import Process
from hangtop.records.reading import Value
from hangtop.system.network.connections import PortOwners
from hangtop.system.processes.environments import ProcessFacts, ProcessFactTable
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import Identity
from hangtop.system.processes.users import Users

KEPT = ("RANK", "NCCL_RAS_ADDR", "HOME", "XDG_CACHE_HOME", *flight_recorder.NAMES, *flight_recorder.PIPES)
"""Variables that tell of NCCL and of torch's flight recorder."""
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
        self._facts = ProcessFactTable(self._table, KEPT)
        self._known: dict[int, ProcessFacts] = {}
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
        addresses = ras_addresses(self._environs(members).values())
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
        ranks = self._ranks([member for member in members if member.pid in ask.pids])
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
        self._facts.forget_gone()
        processes = [pid for pid, stat in self._table.stats.items() if not stat.kernel]
        self._facts.of(processes, now)
        self._known = self._facts.known(processes)  # of a rank that never answered, it is not known where it dumps

    def _environs(self, members: Iterable[Process]) -> dict[int, Mapping[str, str]]:
        """The environments of these processes by pid, as far as they live."""
        stats = self._table.stats
        alive = (each.pid for each in members if each.pid in stats and stats[each.pid].start_ticks == each.start_ticks)
        return {pid: self._known[pid].environ for pid in alive if pid in self._known}

    def _ranks(self, members: Sequence[Process]) -> list[RankProcess]:
        environs = self._environs(members)
        return [
            RankProcess(member.pid, member.rank, member.started_at, member.uid, environs[member.pid])
            for member in members
            if member.role == "rank" and member.rank is not None and member.pid in environs
        ]

    def _dumps(self, members: Sequence[Process]) -> Dumps:
        """Those of the run. Every process with a `RANK` that is not the run's is a rank of another job."""
        own = self._environs(members)
        others = {pid: facts.environ for pid, facts in self._known.items() if pid not in own}
        strangers = [
            RankProcess(pid, int(environ["RANK"]), self._table.started_at(stat.start_ticks), self._table.owner(pid), environ)
            for pid, environ in others.items()
            if environ.get("RANK", "").isdecimal() and (stat := self._table.stats.get(pid)) is not None
        ]
        world = max((member.world or 0 for member in members), default=0)
        return dumps_of(self._ranks(members), strangers, world)

    def _ask(self, address: tuple[str, int], members: Sequence[Process]) -> PortAnswer | None:
        """The answer of the port: `None` if nothing listens, a note if it is another job's or cannot be read."""
        listener = self._owners.of(address, [Identity(member.pid, member.start_ticks) for member in members])
        where = f"{address[0]}:{address[1]}"
        if listener.owner == "nobody":
            return None
        if listener.owner == "another":
            user = self._users.name(listener.uid) or "unknown"
            named = f"a process of user {user}" if listener.pid is None else f"pid {listener.pid} of user {user}"
            return PortAnswer(note=f"RAS answers at {where}, but for another job ({named})")
        try:
            communicators, version = ras.read(ras.query(address))
        except ConnectionError:
            return None
        except (OSError, ras.RasError) as error:
            return PortAnswer(note=f"NCCL's RAS port at {where}: {error}", failed=listener.owner == "the run")
        if listener.owner == "hidden" and not are_of_run(communicators, members):
            return PortAnswer(note=f"RAS answers at {where}, but names no process of this run")
        return PortAnswer(communicators, version)


def are_of_run(communicators: Iterable[Communicator], members: Iterable[Process]) -> bool:
    """Whether these communicators are the run's: every local rank of the run is in them."""
    told = {rank.pid for communicator in communicators for rank in communicator.ranks}
    ranks = {member.pid for member in members if member.role in ("rank", "ray worker")}
    return bool(ranks) and ranks <= told


def ras_addresses(environs: Iterable[Mapping[str, str]]) -> tuple[tuple[str, int], ...]:
    """Where RAS listens, by the environments of the run's processes (`host:port` or `[v6]:port`), else NCCL's default."""
    told: dict[tuple[str, int], None] = {}
    for environ in environs:
        host, _, port = environ.get("NCCL_RAS_ADDR", "").rpartition(":")
        if host and port.isdecimal() and 0 < int(port) < 65536:
            told[host.strip("[]"), int(port)] = None
    return tuple(told)[:MOST_PORTS] or (ras.ADDRESS,)
