"""Command line and environment of processes, read once: only the variables that tell ranks, launchers and Ray."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from msgspec import Struct

from hangtop.common.clean_words import clean_words, command_line
from hangtop.records.process import ProcessRole
from hangtop.system.files.open_files import YOUNG_S
from hangtop.system.guard import Guard
from hangtop.system.processes.batch_shell import of_its_own
from hangtop.system.processes.roles import LOCAL_RANKS, NODE, RANKS, RESTARTS, WORLDS, is_forked, role_by_name
from hangtop.system.processes.table import Identity, ProcessTable, Stat

SLURM = ("SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_STEP_ID", "SLURM_SRUN_COMM_PORT")
OTHERS = ("MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES", *SLURM)
RAY_ADDRESSES = ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS")
KEPT = (*RANKS, *LOCAL_RANKS, *WORLDS, NODE, *RESTARTS, *OTHERS, *RAY_ADDRESSES)
TITLES = ("ray::", "VLLM::", "sglang::")
"""Programs that rewrite their command line to tell what they do, so it is read each time."""


class ProcessFacts(Struct, frozen=True):
    """`name`: in the table at that time; another one later means another program. `line`: the command as it may be shown. `role`:
    as far as name and command tell. `forked`: started by multiprocessing."""

    name: str
    command: tuple[str, ...] = ()
    environ: Mapping[str, str] = {}
    denied: bool = False
    line: str = ""
    role: ProcessRole | None = None
    forked: bool = False

    @classmethod
    def of(cls, name: str, command: tuple[str, ...], environ: Mapping[str, str], denied: bool = False) -> ProcessFacts:
        line = command_line(command) or f"[{clean_words(name)}]"
        return cls(name, command, of_its_own(environ), denied, line, role_by_name(name, command), is_forked(command))


class ProcessFactTable:
    """Facts by process, read once, and again while a process is young (a fork still has its parent's environment) or rewrites its
    title. `kept`: the variables that are kept; others can hold secrets."""

    def __init__(self, table: ProcessTable, kept: Collection[str] = KEPT) -> None:
        self._table = table
        self._kept = kept
        self._facts: dict[Identity, ProcessFacts] = {}
        self._guard: Guard[Identity, ProcessFacts] = Guard()

    def of(self, pids: Iterable[int], now: float) -> dict[int, ProcessFacts]:
        """The facts of these processes now; only a name for one that never answered."""
        stats = [stat for pid in pids if (stat := self._table.stats.get(pid)) is not None]
        due = [stat for stat in stats if stat.state not in "ZX" and self._is_due(stat, now)]
        self._facts |= self._guard.known({stat.identity: partial(self._ask, stat) for stat in due})
        return {stat.pid: self._facts.get(stat.identity) or ProcessFacts.of(stat.name, (), {}) for stat in stats}

    def known(self, pids: Iterable[int]) -> dict[int, ProcessFacts]:
        """The facts of these processes that were read before."""
        stats = (stat for pid in pids if (stat := self._table.stats.get(pid)) is not None)
        return {stat.pid: self._facts[stat.identity] for stat in stats if stat.identity in self._facts}

    def forget_gone(self) -> None:
        """Drop the facts of processes that ended."""
        alive = {stat.identity for stat in self._table.stats.values()}
        self._facts = {identity: facts for identity, facts in self._facts.items() if identity in alive}

    def _is_due(self, stat: Stat, now: float) -> bool:
        known = self._facts.get(stat.identity)
        if known is None or known.name != stat.name or now - self._table.started_at(stat.start_ticks) < YOUNG_S:
            return True
        return bool(known.command) and known.command[0].startswith(TITLES)

    def _ask(self, stat: Stat) -> ProcessFacts:
        command = self._table.command(stat.pid)
        known = self._facts.get(stat.identity)
        if known is not None and known.environ and known.name == stat.name and known.command[:1] != command[:1]:
            return ProcessFacts.of(stat.name, command, known.environ)  # a new title, the same program
        try:
            environ = self._table.environ(stat.pid)
        except PermissionError:
            return ProcessFacts.of(stat.name, command, {}, denied=True)
        return ProcessFacts.of(stat.name, command, {name: environ[name] for name in self._kept if name in environ})
