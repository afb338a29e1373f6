"""What processes of the run pass on to what they start: memory layout, pipes, sockets, log, environment, control group."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Hashable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from hangtop.records.plan import Plan
from hangtop.system.guard import Guard
from hangtop.system.processes.roles import BY_NODE, RANKS
from hangtop.system.processes.table import Identity, Layout, OpenFile, ProcessTable, Stat

Thing = TypeVar("Thing", bound=Hashable)
OUTPUTS = (1, 2)


class Inheritance:
    """What the run held before the first signal. Nothing is known of a process that may not be inspected."""

    def __init__(self, plan: Plan, table: ProcessTable, kin: Collection[Identity]) -> None:
        self._table = table
        self._files: Guard[Identity, tuple[OpenFile, ...]] = Guard()
        self._environs: Guard[Identity, Mapping[str, str]] = Guard()
        self._held: dict[Identity, set[OpenFile]] = {}
        self._same_environ: dict[Identity, bool] = {}
        there = [stat for stat in table.stats.values() if not stat.kernel and stat.state not in "ZX"]
        before, layouts = self._files_of(there), self._layouts_of(there)
        self._ends, _ = _alone(kin, {identity: _ends(files) for identity, files in before.items()})
        self._layouts, self._foreign_layouts = _alone(kin, {identity: {layout} for identity, layout in layouts.items()})
        self._cgroups, _ = _alone(kin, {stat.identity: {group} for stat in there if (group := self._cgroup(stat))})
        outputs = (file for identity in kin for file in before.get(identity, ()) if file.fd in OUTPUTS and _is_log(file))
        self._logs = frozenset(plan.logs) | {file.target for file in outputs}
        numbered = (environ for environ in self._environs_of(kin) if any(name in (*RANKS, BY_NODE) for name, _ in environ))
        self._environs_of_ranks = frozenset(numbered)
        self._layout_of: dict[Identity, Layout | None] = {}

    def ask(self, stats: Iterable[Stat]) -> None:
        """Inspect these processes. One may close what it inherited when it becomes another program, and open the log later."""
        for identity, files in self._files_of(stat for stat in stats if stat.state not in "ZX").items():
            self._held.setdefault(identity, set()).update(files)

    def proof(self, stat: Stat) -> str | None:
        """What proves that a process of the run has started it: it is a copy of one and of no other, or shares what only the run
        held."""
        if self._layout(stat) in self._layouts:
            return "it is a fork of a process of the run"
        if not self._ends.isdisjoint(_ends(self._held.get(stat.identity, ()))):
            return "it holds a pipe or socket that only the run held"
        return None

    def hint(self, stat: Stat) -> str | None:
        """What it has in common with the run: the environment of a rank, or a control group that held only the run, such as that
        of its Slurm step or systemd scope."""
        if stat.identity not in self._same_environ:
            self._same_environ[stat.identity] = bool(self._environs_of_ranks & self._environs_of((stat.identity,)))
        if self._same_environ[stat.identity]:
            return "has the environment of a rank of the run"
        return "is in the run's control group, where nobody else was" if self._cgroup(stat) in self._cgroups else None

    def writes_log(self, stat: Stat) -> bool:
        return any(file.writable and file.target in self._logs for file in self._held.get(stat.identity, ()))

    def is_foreign_fork(self, stat: Stat) -> bool:
        """Whether it is, now, a copy of a process that was there before and is not of the run. For a moment every process is one:
        what a supervisor starts again, too."""
        return self._layouts_of((stat,)).get(stat.identity) in self._foreign_layouts

    def _cgroup(self, stat: Stat) -> str:
        try:
            return self._table.cgroup(stat.pid)
        except OSError:  # gone meanwhile
            return ""

    def _layout(self, stat: Stat) -> Layout | None:
        """Its memory layout when it was first seen: it may become another program later."""
        if stat.identity not in self._layout_of:
            self._layout_of[stat.identity] = self._layouts_of((stat,)).get(stat.identity)
        return self._layout_of[stat.identity]

    def _layouts_of(self, stats: Iterable[Stat]) -> dict[Identity, Layout]:
        found: dict[Identity, Layout] = {}
        for stat in stats:
            with contextlib.suppress(OSError):  # gone meanwhile
                if (layout := self._table.layout(stat.pid)) is not None:
                    found[stat.identity] = layout
        return found

    def _files_of(self, stats: Iterable[Stat]) -> dict[Identity, tuple[OpenFile, ...]]:
        """Open files, of processes of our own user only: others are never ended, and pipes to them prove nothing."""
        ours = [stat for stat in stats if self._table.owner(stat.pid) == os.geteuid()]
        return self._files.known({stat.identity: partial(self._table.open_files, stat.pid) for stat in ours})

    def _environs_of(self, identities: Iterable[Identity]) -> frozenset[frozenset[tuple[str, str]]]:
        answers = self._environs.known({identity: partial(self._table.environ, identity.pid) for identity in identities})
        return frozenset(frozenset(environ.items()) for environ in answers.values() if environ)


def _alone(kin: Collection[Identity], held: Mapping[Identity, Collection[Thing]]) -> tuple[frozenset[Thing], frozenset[Thing]]:
    """(what only processes of the run hold, what others hold)."""
    of_kin = {thing for identity, things in held.items() if identity in kin for thing in things}
    others = {thing for identity, things in held.items() if identity not in kin for thing in things}
    return frozenset(of_kin - others), frozenset(others)


def _ends(files: Iterable[OpenFile]) -> set[tuple[str, bool]]:
    """Pipes and sockets: (name, whether it may be written), for the two ends of a pipe have the same name."""
    return {(file.target, file.writable) for file in files if file.target.startswith(("pipe:", "socket:"))}


def _is_log(file: OpenFile) -> bool:
    return file.writable and not file.deleted and file.target.startswith("/") and not file.target.startswith("/dev/")
