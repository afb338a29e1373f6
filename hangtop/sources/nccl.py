"""The NCCL source: NCCL's RAS port, and the flight recorder dumps of the ranks. Both optional, both without touching the run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial

from hangtop.records.ask import Ask, FlightAsk
from hangtop.records.nccl import FlightDump, NcclReading
from hangtop.records.reading import Value
from hangtop.sources import Absent, Trouble, flight, ras
from hangtop.sources.proc.guard import Guard
from hangtop.sources.proc.table import Identity
from hangtop.sources.processes import open_table
from hangtop.spec import WatchSpec

WORTH_S = 3_600.0
"""Dumps older than this belong to another run, unless a rank that still lives is as old."""
KEPT = ("RANK", "NCCL_RAS_ADDR", *flight.NAMES, *flight.PIPES)
MOST_JOBS = 4
AGAIN_S = 10.0
SECOND_LOOK_S = 1.0
DUMP_WAIT_S = 4.0
DUMP_LOOK_S = 0.5
CLOCK_ERROR_S = 0.1
NOTHING = "no NCCL RAS port at {address} (NCCL 2.24 and later open it), and no flight recorder dump"


class NcclSource:
    """Asks the RAS port and looks for dumps, every 10 s: a RAS query makes all processes of the job answer.

    The second look comes soon, for only two tell a rank that is stuck from one that is about to launch.
    """

    name = "nccl"
    deadline_s = MOST_JOBS * ras.LIMIT_S + 2.0

    def __init__(self, spec: WatchSpec) -> None:
        del spec  # whose processes they are, the diagnosis tells by their pids
        self._ranks = RankEnvironments()
        self._looks = 0

    @property
    def interval_s(self) -> float:
        return SECOND_LOOK_S if self._looks == 1 else AGAIN_S

    def read(self, now: float) -> Iterable[Value]:
        ranks = self._ranks.look()
        dumps = self._dumps(ranks, now)
        addresses = _addresses(ranks)
        told = [said for address in addresses if (said := _ask(address)) is not None]
        notes = "; ".join(said.note for said in told if said.note) or None
        if not told and not dumps:
            raise Absent(NOTHING.format(address=" ".join(f"{host}:{port}" for host, port in addresses)))
        if notes and not dumps and all(said.note for said in told):
            raise Trouble(notes)
        communicators = tuple(one for said in told for one in said.communicators)
        self._looks += bool(communicators)
        yield NcclReading(now, communicators, dumps, next((said.version for said in told if said.version), None), notes)

    def answer(self, ask: Ask, now: float) -> Iterable[Value]:
        """Asks the flight recorders of these ranks for their dumps, where they have a FIFO, and gives those that come."""
        if not isinstance(ask, FlightAsk):
            return
        ranks = self._ranks.look()
        asked = [env for env in self._ranks.of(ask.pids) if flight.request(env)]
        if not asked:
            return
        began = time.monotonic()
        while time.monotonic() - began < DUMP_WAIT_S:
            time.sleep(DUMP_LOOK_S)
            if dumps := tuple(dump for dump in self._dumps(ranks, now) if dump.at >= now - CLOCK_ERROR_S and not dump.problem):
                yield NcclReading(now + time.monotonic() - began, dumps=dumps)
                return

    def _dumps(self, ranks: tuple[tuple[Mapping[str, str], float], ...], now: float) -> tuple[FlightDump, ...]:
        since = min((started_at for _, started_at in ranks), default=now - WORTH_S)
        found = []
        for path in flight.find(flight.beginnings(env for env, _ in ranks), since):
            try:
                dump = flight.read(path)
            except OSError as error:
                dump = FlightDump(-1, str(path), now, problem=error.strerror or str(error))
            if dump is not None:
                found.append(dump)
        return tuple(found)


Program = tuple[Identity, str]
"""A process, and its name while it is this program."""


class RankEnvironments:
    """What the environments of ranks say: those processes that have a RANK. Each is asked once for each program that it becomes:
    a shell may set its rank, and then become it."""

    def __init__(self) -> None:
        self._table = open_table()
        self._guard: Guard[Program, Mapping[str, str]] = Guard()
        self._known: dict[Program, Mapping[str, str]] = {}

    def look(self) -> tuple[tuple[Mapping[str, str], float], ...]:
        """The environments of all ranks that live, reduced to what matters here, with the start of each."""
        self._table.refresh(())
        living = {(stat.identity, stat.name) for stat in self._table.stats.values() if not stat.kernel}
        self._known = {program: env for program, env in self._known.items() if program in living}
        new = {program: partial(self._table.environ, program[0].pid) for program in living - self._known.keys()}
        for program, answer in self._guard.ask(new).items():
            self._known[program] = {} if isinstance(answer, OSError) else {name: answer[name] for name in KEPT if name in answer}
        ranks = ((identity, env) for (identity, _), env in self._known.items() if "RANK" in env)
        return tuple((env, self._table.started_at(identity.start_ticks)) for identity, env in ranks)

    def of(self, pids: Iterable[int]) -> tuple[Mapping[str, str], ...]:
        """The environments of these ranks, as of the last look."""
        wanted = frozenset(pids)
        return tuple(env for (identity, _), env in self._known.items() if identity.pid in wanted and "RANK" in env)


def _ask(address: tuple[str, int]) -> NcclReading | None:
    """What this port says: `None` where nobody listens, a note where it cannot be read."""
    try:
        communicators, version = ras.read(ras.query(address))
    except ConnectionError:
        return None
    except (OSError, ras.RasError) as error:
        return NcclReading(note=f"NCCL's RAS port at {address[0]}:{address[1]}: {error}")
    return NcclReading(communicators=communicators, version=version)


def _addresses(ranks: Iterable[tuple[Mapping[str, str], float]]) -> tuple[tuple[str, int], ...]:
    """Where the RAS of the jobs on this machine listen, each once."""
    told = dict.fromkeys(one for env, _ in ranks if (one := ras_address(env)))
    return tuple(told)[:MOST_JOBS] or (ras.ADDRESS,)


def ras_address(env: Mapping[str, str]) -> tuple[str, int] | None:
    """Where this process's NCCL listens, if its environment says: `host:port`, `[v6]:port`."""
    host, _, port = env.get("NCCL_RAS_ADDR", "").rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdecimal() and 0 < int(port) < 65536 else None
