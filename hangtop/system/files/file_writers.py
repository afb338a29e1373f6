"""Which processes write a file: those that have it open for writing, or that feed a relay such as `tee`. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from hangtop.system.processes.roles import RELAYS
from hangtop.system.processes.table import OpenFile, Stat
from hangtop.system.processes.tree import ancestors

TERMINAL_RELAYS = frozenset(("script", "unbuffer", "screen", "tmux: server"))
"""Relays that give their children a terminal instead of a pipe, and hold its other end."""
TERMINAL_ENDS = ("/dev/ptmx", "/dev/pts/ptmx")
"""Files of a terminal's other end: a process with one of these passes on what is written to the terminal (pts(4))."""
NO_JOBS = frozenset("less more man vi vim nvim nano emacs top htop watch tail ssh tmux screen code hangtop".split())
"""Interactive programs that people run in a shell: their screen is no part of a log that takes the shell's output."""


class LogFeeder(Struct, frozen=True):
    """A process that writes to `paths`, directly or `via` a relay. `shell`: pid of a person's shell from which it inherited its
    output."""

    pid: int
    paths: frozenset[str]
    via: str | None = None
    shell: int | None = None


class OpenFileTable(Struct, frozen=True, dict=True):
    """The process table with open files, as far as they could be read. `shells`: pids of shells that people type into."""

    stats: Mapping[int, Stat]
    files: Mapping[int, tuple[OpenFile, ...]]
    shells: frozenset[int] = frozenset()

    @cached_property
    def holders(self) -> dict[str, list[int]]:
        """The pids that have a file open for writing. Deleted files do not count: a new file of that name is another one."""
        holders: dict[str, list[int]] = {}
        for pid, held in self.files.items():
            for target in {file.target for file in held if file.writable and not file.deleted and pid in self.stats}:
                holders.setdefault(target, []).append(pid)
        return holders


def find_feeders(table: OpenFileTable, paths: Iterable[str], ignored: Collection[int] = ()) -> tuple[LogFeeder, ...]:
    """The topmost processes that write to `paths`, by pid: of a launcher and its children on one file, only the launcher.

    `ignored`: pids to leave out, such as hangtop's own. A relay that no process feeds counts itself, unless it serves several
    terminals: nothing tells which of them it logs. If the output of a person's shell goes there, its jobs count instead of the
    shell, except editors and the like.
    """
    found: dict[int, LogFeeder] = {}
    for path in paths:
        sources = sources_of(table, path, ignored)
        shells = table.shells.intersection(_behind(table, path, None, set(ignored))) if table.shells else frozenset()
        for pid in topmost(table.stats, sources):
            shell = next((above for above in ancestors(table.stats, pid) if above in shells), None)
            if shell is not None and table.stats[pid].name in NO_JOBS:
                continue
            known = found.get(pid)
            joined = (known.paths if known else frozenset()) | {path}
            found[pid] = LogFeeder(pid, joined, sources[pid] or (known.via if known else None), shell)
    return tuple(found[pid] for pid in sorted(found))


def server_of(table: OpenFileTable, paths: Iterable[str]) -> int | None:
    """A process that writes one of these files for one of its several terminals; nothing tells for which."""
    holders = (pid for path in paths for pid in table.holders.get(path, ()) if table.stats[pid].name in TERMINAL_RELAYS)
    return next((pid for pid in holders if terminals_of(table.files.get(pid, ())) > 1), None)


def jobs_of(table: OpenFileTable, feeders: Iterable[LogFeeder]) -> tuple[int, ...]:
    """The first process of each job that writes through the output of a person's shell. A process group is a job; without job
    control (`set +m`) each process counts as one."""
    found: dict[int, int] = {}
    for feeder in feeders:
        if feeder.shell is not None:
            group = table.stats[feeder.pid].group
            found.setdefault(feeder.pid if group == table.stats[feeder.shell].group else group, feeder.pid)
    return tuple(found.values())


def sources_of(table: OpenFileTable, path: str, ignored: Collection[int] = ()) -> dict[int, str | None]:
    """Every process that writes to `path`, except people's shells, with the name of its relay."""
    found = _behind(table, path, None, set(ignored))
    return {pid: via for pid, via in found.items() if pid not in ignored and pid not in table.shells}


def _behind(table: OpenFileTable, target: str, via: str | None, seen: set[int]) -> dict[int, str | None]:
    """All processes that write to `target`, relays replaced by the processes that feed them. A relay for pipes is told by its
    name, and has no children."""
    sources: dict[int, str | None] = {}
    for pid in table.holders.get(target, ()):
        if pid in seen:
            continue
        name = table.stats[pid].name
        terminals = terminals_of(table.files.get(pid, ())) if name in TERMINAL_RELAYS else 0
        passes_on = name in RELAYS - TERMINAL_RELAYS and not any(stat.ppid == pid for stat in table.stats.values())
        if not terminals and not passes_on:
            sources[pid] = via
            continue
        seen.add(pid)
        found = _upstream(table, pid, seen, terminals)
        sources.update(found if found or terminals > 1 else {pid: via})
    return sources


def terminals_of(files: Iterable[OpenFile]) -> int:
    """For how many terminals a process with these files holds the other end."""
    return sum(file.target in TERMINAL_ENDS for file in files)


def _upstream(table: OpenFileTable, pid: int, seen: set[int], terminals: int) -> dict[int, str | None]:
    """The processes that feed this relay: at the other end of its stdin pipe, or its children on its one terminal."""
    name = table.stats[pid].name
    if terminals > 1:
        return {}
    if terminals:
        below = [stat for stat in table.stats.values() if stat.ppid == pid]
        typed_into = {stat.terminal for stat in below if stat.pid in table.shells}
        return dict.fromkeys((stat.pid for stat in table.stats.values() if stat in below or stat.terminal in typed_into), name)
    stdin = next((file for file in table.files.get(pid, ()) if file.fd == 0), None)
    if stdin is None or not stdin.target.startswith("pipe:"):
        return {}
    return _behind(table, stdin.target, name, seen)


def topmost(stats: Mapping[int, Stat], pids: Collection[int]) -> list[int]:
    """The pids without an ancestor among `pids`."""
    return [pid for pid in pids if not any(parent in pids for parent in ancestors(stats, pid))]
