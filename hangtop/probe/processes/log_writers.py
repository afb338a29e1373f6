"""The watched logs as processes hold them open, and the processes that write them: from when each is first seen until after its
end."""

from __future__ import annotations

import fnmatch
import os
import re
import stat as modes
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from hangtop.common.clean_words import clean_words, command_line
from hangtop.common.text import some
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.discover import STDIN
from hangtop.probe.processes.copying import copies, only_copy
from hangtop.records.process import Writer
from hangtop.system.files.file_writers import LogFeeder, OpenFileTable, find_feeders, jobs_of, server_of
from hangtop.system.files.open_files import YOUNG_S
from hangtop.system.guard import Guard
from hangtop.system.processes.exits import Exits
from hangtop.system.processes.out_of_sight import hides_others
from hangtop.system.processes.roles import RELAYS
from hangtop.system.processes.table import Details, Identity, OpenFile, ProcessTable, Stat
from hangtop.system.processes.tree import children_of, descendants

RESOLVE_EVERY = 3
"""How many calls of `find` share one resolution of the log paths."""
LOOKS_BEFORE_THE_LOG = 3
"""So many calls of `find` wait for the log source to tell the files of a directory or pattern."""
GLOB_SIGNS = re.compile(r"[*?\[]")
MOST_COPIERS = 8
"""A writer with more processes below it is no shell that runs a client."""
MAX_GONE = 64
"""How many ended writers are remembered."""


HIDDEN = "/proc is mounted with hidepid: sudo hangtop (or as that user) shows the processes of the log's owner"


class LogWriters:
    """The writers of the watched logs. `find` the processes that write now, `check` after each refresh of the table which of them
    still live. `now` is unix time."""

    def __init__(self, context: ProbeContext, table: ProcessTable, exits: Exits) -> None:
        self._context = context
        self._table = table
        self._exits = exits
        stdin = context.spec.stdin
        self.watched = WatchedFiles(context.spec.logs, "" if stdin is None else stdin.name)
        self._paths: Guard[str, None] = Guard()
        self._commands: Guard[Identity, tuple[str, ...]] = Guard()
        self._details: Guard[Identity, Details] = Guard()
        self._all_files: Guard[Identity, tuple[OpenFile, ...]] = Guard()
        self._writers: dict[Identity, Writer] = {}
        self._resolved_for: tuple[str, ...] | None = None
        self._looks = 0
        self.sought = False
        """Whether the last `find` knew the files."""
        self.followed_another = 0
        """Counts the writers that turned out to be another run's, or of a run that is watched no more."""
        self.shell: int | None = None
        """A person's shell whose own output goes to the logs."""
        self.jobs: tuple[int, ...] = ()
        """The jobs of that shell that write the logs, where there are several."""
        self._server: Stat | None = None
        """A program such as `screen` that writes the logs for one of several terminals."""

    @property
    def writers(self) -> tuple[Writer, ...]:
        return tuple(self._writers.values())

    def alive(self) -> set[int]:
        return {writer.pid for writer in self._writers.values() if writer.alive}

    def find(self, table: OpenFileTable, now: float) -> None:
        is_told = self._context.index is not None
        files = self._files()
        if self._looks % RESOLVE_EVERY == 0 or files != self._resolved_for:
            self._paths.ask({"logs": partial(self.watched.resolve, files)})
            self._resolved_for = files
        self.sought = self.watched.resolved and (is_told or files is None or not self.watched.several)
        self._looks += 1
        self._forget_unwatched()
        logs, pids = self._logs_in(table), self._context.spec.pids
        named = tuple(LogFeeder(pid, frozenset()) for pid in pids if pid in table.stats)
        feeders = named if pids else find_feeders(table, logs, ignored=(os.getpid(), os.getppid()))
        self.shell = next((feeder.shell for feeder in feeders if feeder.shell is not None), None)
        jobs = jobs_of(table, feeders)
        self.jobs = jobs if len(jobs) > 1 else ()
        server = server_of(table, logs)
        self._server = None if server is None else table.stats[server]
        for feeder in feeders:
            self._record(table.stats[feeder.pid], feeder, now)
        self._note_copiers(table, [table.stats[feeder.pid] for feeder in feeders])
        self._forget_relays({feeder.pid for feeder in feeders})

    @property
    def is_outdated(self) -> bool:
        """Whether the watched files changed since the last `find`."""
        return self._files() != self._resolved_for

    def _files(self) -> tuple[str, ...] | None:
        """The files that the log source reads: none before its first look, `None` without a log source."""
        if self._context.index is None:
            return () if "log" in self._context.spec.sources and self._looks < LOOKS_BEFORE_THE_LOG else None
        return tuple(file.path for file in self._context.files if file.path != STDIN)

    def check(self, now: float) -> None:
        for identity, writer in self._writers.items():
            stat = self._table.stats.get(identity.pid)
            if stat is not None and stat.identity == identity:  # else the pid is another process now, or none
                if stat.state not in "ZX":
                    continue
                self._exits.watch(stat)
            gone_at = now if writer.gone_at is None else writer.gone_at
            code = writer.exit_code if writer.exit_code is not None else self._exits.code(identity)
            self._writers[identity] = replace(writer, alive=False, gone_at=gone_at, exit_code=code)
        gone = [identity for identity, writer in self._writers.items() if not writer.alive]
        for identity in gone[: max(0, len(gone) - MAX_GONE)]:
            del self._writers[identity]

    def note(self, hidden: int) -> str | None:
        """Why no living writer is known. `hidden`: how many processes may not be read."""
        if self.alive():
            return None
        if absent := [pid for pid in self._context.spec.pids if pid not in {writer.pid for writer in self.writers}]:
            return f"--pid {absent[0]}: no such process on this machine"
        if self._server is not None:
            named = f"pid {self._server.pid} ({clean_words(self._server.name)})"
            return f"{named} writes the log for one of its windows, and nothing tells which: --pid PID names the run"
        if not hidden:
            return HIDDEN if self._is_hidden() else None
        way = "hangtop outside this container" if os.geteuid() == 0 else "sudo hangtop (or as that user)"
        return f"{way} shows {some(hidden, 'hidden process')} of the log's owner: one may write it"

    def _is_hidden(self) -> bool:
        """Whether the log is another user's, and the processes of others are not even listed here."""
        mine = os.geteuid()
        return mine != 0 and bool(self.watched.owners) and mine not in self.watched.owners and hides_others()

    def _logs_in(self, table: OpenFileTable) -> list[str]:
        """The logs that a process has open for writing, by the kernel's names."""
        return sorted(target for target in table.holders if self.watched.matches(target) or self._is_renamed(table, target))

    def _is_renamed(self, table: OpenFileTable, target: str) -> bool:
        """A process in a container has another path for the log: there the inode tells."""
        if not self.watched.may_be_called(target):
            return False
        held = ((pid, file.fd) for pid in table.holders[target] for file in table.files[pid] if file.target == target)
        return any(self.watched.is_inode(target, self._table.inode(pid, fd)) for pid, fd in held)

    def _record(self, stat: Stat, feeder: LogFeeder, now: float) -> None:
        """Record a writer when it is first seen, and what it writes each time. A young process may still become another
        program."""
        self._exits.watch(stat)
        started_at = self._table.started_at(stat.start_ticks)
        known = self._writers.get(stat.identity)
        if known is None or known.name != clean_words(stat.name) or now - started_at < YOUNG_S or known.command.startswith("["):
            known = Writer(stat.pid, started_at, clean_words(stat.name), self._command(stat), stat.start_ticks)
        self._writers[stat.identity] = replace(known, paths=tuple(sorted(map(clean_words, feeder.paths))), via=feeder.via)

    def _note_copiers(self, table: OpenFileTable, feeders: Collection[Stat]) -> None:
        """Which writers only copy what comes to them from elsewhere."""
        children = children_of(table.stats)
        trees = {stat.identity: [table.stats[pid] for pid in descendants(children, stat.pid)] for stat in feeders}
        living = {identity: [stat for stat in tree if stat.state not in "ZX"] for identity, tree in trees.items()}
        few = {stat.identity: stat for tree in living.values() if len(tree) <= MOST_COPIERS for stat in tree}
        told = self._details.known({identity: partial(self._table.details, identity.pid) for identity in few})
        held = self._all_files.known({identity: partial(self._table.open_files, identity.pid) for identity in few})
        ticks = self._table.ticks_per_s
        copying = {each.pid for each in told.keys() & held.keys() if copies(few[each], told[each], held[each], ticks)}
        for identity, tree in living.items():
            parents = (table.stats.get(stat.ppid) for stat in tree if stat.identity == identity)
            parent = next((stat.name for stat in parents if stat is not None), None)
            self._writers[identity] = replace(self._writers[identity], copies=only_copy(tree, copying, ticks, parent))

    def _command(self, stat: Stat) -> str:
        words = self._commands.known({stat.identity: lambda: self._table.command(stat.pid)}).get(stat.identity)
        return command_line(words) if words else f"[{clean_words(stat.name)}]"

    def _forget_unwatched(self) -> None:
        """Forget living writers of files that are no longer watched: they are of another run."""
        for identity, writer in list(self._writers.items()):
            known = (self.watched.matches(path) or self.watched.may_be_called(path) for path in writer.paths)
            if writer.alive and writer.paths and not any(known):
                del self._writers[identity]
                self.followed_another += 1

    def _forget_relays(self, feeding: Collection[int]) -> None:
        """Forget relays that are fed by a process now: that process is the writer."""
        for identity, writer in list(self._writers.items()):
            stat = self._table.stats.get(identity.pid)
            is_relay = stat is not None and stat.identity == identity and stat.name in RELAYS
            if is_relay and writer.alive and identity.pid not in feeding:
                del self._writers[identity]


DEVICES, SHARED_MEMORY = "/dev/", "/dev/shm/"
"""Everybody may write a device such as /dev/null: that makes nobody a process of the run, whatever log was given."""


def _is_device(mode: int) -> bool:
    return modes.S_ISCHR(mode) or modes.S_ISBLK(mode) or modes.S_ISSOCK(mode)


class WatchedFiles:
    """The watched logs as the process table names them: by real paths. New files in a directory need no listing of it.

    `pipe`: what stdin is called there (`pipe:[4711]`)."""

    def __init__(self, logs: Iterable[str], pipe: str = "") -> None:
        self._logs = tuple(logs)
        self._pipe = pipe
        self._exact: frozenset[str] = frozenset()
        self._below: tuple[str, ...] = ()
        self._patterns: tuple[re.Pattern[str], ...] = ()
        self._only: frozenset[str] | None = None
        self._inodes: frozenset[tuple[str, int]] = frozenset()
        self._names: frozenset[str] = frozenset()
        self.resolved, self.several = False, False
        """Whether the paths are resolved, and whether they are more than single files."""
        self.owners: frozenset[int] = frozenset()
        """The users that own the watched files."""
        self.written_at: dict[str, float] = {}
        """When the watched files were written last, by real path."""
        self.sizes: dict[str, int] = {}
        """How many bytes they held then."""

    def resolve(self, watched: Collection[str] | None = None) -> None:
        """Resolve symbolic links and stat the files. May wait for the file system.

        `watched`: the files that the log source reads, once known. In a directory or pattern no others count: files of another
        run may lie beside them."""
        exact: set[str] = set()
        below: list[str] = []
        patterns: list[re.Pattern[str]] = []
        for log in self._logs:
            if log == "-":
                exact.update({self._pipe} - {""})
            elif sign := GLOB_SIGNS.search(log):  # links are resolved in front of its first sign
                fixed = os.path.dirname(log[: sign.start()])
                glob = os.path.join(os.path.realpath(fixed or "."), log[len(fixed) :].lstrip("/"))
                patterns.append(re.compile(fnmatch.translate(glob)))
            else:
                real = os.path.realpath(log)
                exact.add(real)
                below.append(os.path.join(real, ""))
        files: dict[str, os.stat_result] = {}
        for path in exact:
            with suppress(OSError):  # not there yet, or a pipe
                files[path] = os.stat(path)
        devices = {path for path, status in files.items() if _is_device(status.st_mode)}
        self._exact, self._below, self._patterns = frozenset(exact - devices), tuple(below), tuple(patterns)
        self.several = bool(patterns) or any(os.path.isdir(path) for path in exact)
        self._only = frozenset(map(os.path.realpath, watched)) if self.several and watched is not None else None
        self._inodes = frozenset((os.path.basename(path), files[path].st_ino) for path in files.keys() - devices)
        self._names = frozenset(name for name, _ in self._inodes)
        self.owners = frozenset(status.st_uid for status in files.values())
        regular = {path: status for path, status in files.items() if modes.S_ISREG(status.st_mode)}
        self.written_at = {path: status.st_mtime for path, status in regular.items()}
        self.sizes = {path: status.st_size for path, status in regular.items()}
        self.resolved = True

    def matches(self, target: str) -> bool:
        if target.startswith(DEVICES) and not target.startswith(SHARED_MEMORY):
            return False
        if target in self._exact:
            return True
        if self._only is not None:
            return target in self._only
        return target.startswith(self._below) or any(pattern.fullmatch(target) for pattern in self._patterns)

    def may_be_called(self, target: str) -> bool:
        """Whether a process in a container may have this name for a watched file: the same last part, other directories."""
        return target.rpartition("/")[2] in self._names and target not in self._exact

    def is_inode(self, target: str, inode: int | None) -> bool:
        """Whether name and inode are those of a watched file: an inode alone is unique on one file system only."""
        return (os.path.basename(target), inode) in self._inodes
