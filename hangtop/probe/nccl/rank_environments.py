"""What the environments of local ranks say of NCCL and of torch's flight recorder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from msgspec import Struct

from hangtop.probe.nccl.flight_recorder import NAMES, PIPES
from hangtop.records.process import Process
from hangtop.system.files.open_files import YOUNG_S
from hangtop.system.guard import Guard
from hangtop.system.processes.table import Identity, ProcessTable

KEPT = ("RANK", "NCCL_RAS_ADDR", "HOME", "XDG_CACHE_HOME", *NAMES, *PIPES)


class RankProcess(Struct, frozen=True):
    """A process that is a rank. `started_at`: unix time. `environ`: the variables that tell where its dumps lie."""

    pid: int
    rank: int
    started_at: float
    uid: int | None
    environ: Mapping[str, str] = {}


Program = tuple[Identity, str]
"""A process and its name: a shell may set its rank and then become another program."""


class RankEnvironments:
    """The environments of all processes of this machine, read once for each program, of young processes again."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Program, Mapping[str, str]] = Guard()
        self._known: dict[Program, Mapping[str, str]] = {}

    def refresh(self, now: float) -> None:
        """Read new and young processes of the table, which must be fresh: a young fork still has its parent's environment. `now`:
        unix time."""
        living = {(stat.identity, stat.name) for stat in self._table.stats.values() if not stat.kernel}
        self._known = {program: env for program, env in self._known.items() if program in living}
        young = {program for program in living if now - self._table.started_at(program[0].start_ticks) < YOUNG_S}
        due = {program: partial(self._table.environ, program[0].pid) for program in (living - self._known.keys()) | young}
        for program, answer in self._guard.ask(due).items():
            self._known[program] = {} if isinstance(answer, OSError) else {name: answer[name] for name in KEPT if name in answer}

    def of(self, members: Iterable[Process]) -> tuple[Mapping[str, str], ...]:
        """The environments of these processes, as of the last refresh."""
        wanted = {Identity(member.pid, member.start_ticks) for member in members}
        return tuple(env for (identity, _), env in self._known.items() if identity in wanted)

    def ranks(self, members: Iterable[Process]) -> tuple[RankProcess, ...]:
        """The run's processes that are ranks and live."""
        environs = {identity: env for (identity, _), env in self._known.items()}
        return tuple(
            RankProcess(process.pid, process.rank, process.started_at, process.uid, environs[identity])
            for process in members
            if process.role == "rank" and process.rank is not None
            if (identity := Identity(process.pid, process.start_ticks)) in environs
        )

    def strangers(self, members: Iterable[Process]) -> tuple[RankProcess, ...]:
        """Processes with a `RANK` that are not the run's: ranks of other jobs."""
        own = {Identity(member.pid, member.start_ticks) for member in members}
        return tuple(
            RankProcess(
                identity.pid,
                int(env["RANK"]),
                self._table.started_at(identity.start_ticks),
                self._table.owner(identity.pid),
                env,
            )
            for (identity, _), env in self._known.items()
            if identity not in own and env.get("RANK", "").isdecimal()
        )
