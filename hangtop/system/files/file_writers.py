"""Who writes a file: the processes that hold it open for writing, and behind a relay such as `tee` those that feed it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from hangtop.system.processes.roles import RELAYS
from hangtop.system.processes.table import OpenFile, Stat
from hangtop.system.processes.tree import ancestors

TERMINAL_RELAYS = frozenset(("script", "unbuffer", "screen", "tmux: server"))
"""They give their children a terminal instead of a pipe, and hold its other end."""
TERMINAL_ENDS = ("/dev/ptmx", "/dev/pts/ptmx")
"""What holds a terminal's other end passes on what others write there (pts(4))."""
NO_JOBS = frozenset("less more man vi vim nvim nano emacs top htop watch tail ssh tmux screen code hangtop".split())
"""What people run in a shell to look at things, whose screen is no part of a log that the shell's output goes to."""


class LogFeeder(Struct, frozen=True):
    """A process that writes to `paths`, itself or `via` a relay. `shell`: a person's, from which it has inherited its output."""

    pid: int
    paths: frozenset[str]
    via: str | None = None
    shell: int | None = None


class OpenFileTable(Struct, frozen=True):
    """The table and what its processes hold open, as far as that could be read. `holders`: who has a file open for writing.
    `shells`: those that people type into."""

    stats: Mapping[int, Stat]
    files: Mapping[int, tuple[OpenFile, ...]]
    holders: Mapping[str, list[int]]
    shells: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls, stats: Mapping[int, Stat], files: Mapping[int, tuple[OpenFile, ...]], shells: frozenset[int] = frozenset()
    ) -> OpenFileTable:
        """A deleted file is no longer the file of that name: who writes it has no part in a new one."""
        holders: dict[str, list[int]] = {}
        for pid, held in files.items():
            for target in {file.target for file in held if file.writable and not file.deleted and pid in stats}:
                holders.setdefault(target, []).append(pid)
        return cls(stats, files, holders, shells)


def find_feeders(machine: OpenFileTable, paths: Iterable[str], ignored: Collection[int] = ()) -> tuple[LogFeeder, ...]:
    """The topmost processes that write to `paths`, by pid: of a launcher and its children on one file, only the launcher.

    `ignored`: pids that do not count, such as hangtop's own. A relay that nobody feeds stands for itself, but for one that serves
    several terminals: which of them it writes down is not told, and all that runs there is no run. A person's shell whose own
    output goes there is none of them: its jobs are, but for editors and the like.
    """
    found: dict[int, LogFeeder] = {}
    for path in paths:
        sources = sources_of(machine, path, ignored)
        shells = machine.shells.intersection(_behind(machine, path, None, set(ignored))) if machine.shells else frozenset()
        for pid in topmost(machine.stats, sources):
            shell = next((above for above in ancestors(machine.stats, pid) if above in shells), None)
            if shell is not None and machine.stats[pid].name in NO_JOBS:
                continue
            known = found.get(pid)
            joined = (known.paths if known else frozenset()) | {path}
            found[pid] = LogFeeder(pid, joined, sources[pid] or (known.via if known else None), shell)
    return tuple(found[pid] for pid in sorted(found))


def server_of(machine: OpenFileTable, paths: Iterable[str]) -> int | None:
    """Who writes one of these for one of several terminals that it serves: nothing tells for which."""
    holders = (pid for path in paths for pid in machine.holders.get(path, ()) if machine.stats[pid].name in TERMINAL_RELAYS)
    return next((pid for pid in holders if terminals_of(machine.files.get(pid, ())) > 1), None)


def jobs_of(machine: OpenFileTable, feeders: Iterable[LogFeeder]) -> tuple[int, ...]:
    """The first process of each job of a person's shell that writes by the shell's own output: a process group is a job. What a
    shell without job control (`set +m`) starts stays in its own group, and each such process is taken for a job."""
    found: dict[int, int] = {}
    for feeder in feeders:
        if feeder.shell is not None:
            group = machine.stats[feeder.pid].group
            found.setdefault(feeder.pid if group == machine.stats[feeder.shell].group else group, feeder.pid)
    return tuple(found.values())


def sources_of(machine: OpenFileTable, path: str, ignored: Collection[int] = ()) -> dict[int, str | None]:
    """Every process that writes to `path` but for the shells of people, with the name of the relay it goes through."""
    found = _behind(machine, path, None, set(ignored))
    return {pid: via for pid, via in found.items() if pid not in ignored and pid not in machine.shells}


def _behind(machine: OpenFileTable, target: str, via: str | None, seen: set[int]) -> dict[int, str | None]:
    """All processes that write to `target`, relays replaced by what stands behind them."""
    sources: dict[int, str | None] = {}
    for pid in machine.holders.get(target, ()):
        if pid in seen:
            continue
        terminals = terminals_of(machine.files.get(pid, ())) if machine.stats[pid].name in TERMINAL_RELAYS else 0
        if not terminals and not _is_relay(machine, pid):
            sources[pid] = via
            continue
        seen.add(pid)
        found = _upstream(machine, pid, seen, terminals)
        sources.update(found if found or terminals > 1 else {pid: via})
    return sources


def terminals_of(files: Iterable[OpenFile]) -> int:
    """Of how many terminals a process with these files holds the other end."""
    return sum(file.target in TERMINAL_ENDS for file in files)


def _is_relay(machine: OpenFileTable, pid: int) -> bool:
    """A relay for pipes, by its name: but a program may have any name, and one that starts others passes on nothing."""
    name = machine.stats[pid].name
    return name in RELAYS - TERMINAL_RELAYS and not any(stat.ppid == pid for stat in machine.stats.values())


def _upstream(machine: OpenFileTable, pid: int, seen: set[int], terminals: int) -> dict[int, str | None]:
    """What feeds this relay: the other end of the pipe on its standard input, or its children on the one terminal of its own."""
    name = machine.stats[pid].name
    if terminals > 1:
        return {}
    if terminals:
        below = [stat for stat in machine.stats.values() if stat.ppid == pid]
        typed_into = {stat.terminal for stat in below if stat.pid in machine.shells}
        return dict.fromkeys((stat.pid for stat in machine.stats.values() if stat in below or stat.terminal in typed_into), name)
    stdin = next((file for file in machine.files.get(pid, ()) if file.fd == 0), None)
    if stdin is None or not stdin.target.startswith("pipe:"):
        return {}
    return _behind(machine, stdin.target, name, seen)


def topmost(stats: Mapping[int, Stat], pids: Collection[int]) -> list[int]:
    """Those without an ancestor among `pids`."""
    return [pid for pid in pids if not any(parent in pids for parent in ancestors(stats, pid))]
