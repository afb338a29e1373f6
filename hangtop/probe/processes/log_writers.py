"""The processes that write the watched logs, from when each is first seen until after its end."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial

from msgspec.structs import replace

from hangtop.common.clean_words import clean_words, command_line
from hangtop.common.text import some
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.discover import STDIN
from hangtop.probe.processes.watched_files import WatchedFiles
from hangtop.records.process import Writer
from hangtop.system.files.file_writers import LogFeeder, OpenFileTable, find_feeders, jobs_of, server_of
from hangtop.system.files.open_files import YOUNG_S
from hangtop.system.guard import Guard
from hangtop.system.processes.exits import Exits
from hangtop.system.processes.roles import RELAYS
from hangtop.system.processes.table import Identity, ProcessTable, Stat

RESOLVE_EVERY = 3
"""How many calls of `find` share one resolution of the log paths."""
LOOKS_BEFORE_THE_LOG = 3
"""So many calls of `find` wait for the log source to tell the files of a directory or pattern."""
MAX_GONE = 64
"""How many ended writers are remembered."""


class LogWriters:
    """The writers of the watched logs. `find` them now and then, `check` them after each refresh of the table."""

    def __init__(self, context: ProbeContext, table: ProcessTable, exits: Exits) -> None:
        self._context = context
        self._table = table
        self._exits = exits
        stdin = context.spec.stdin
        self._wanted = WatchedFiles(context.spec.logs, "" if stdin is None else stdin.name)
        self._paths: Guard[str, None] = Guard()
        self._commands: Guard[Identity, tuple[str, ...]] = Guard()
        self._writers: dict[Identity, Writer] = {}
        self._resolved_for: tuple[str, ...] | None = None
        self._looks = 0
        self.followed_another = 0
        """Counts the writers that turned out to be another run's, or of a run that is watched no more."""
        self.shell: int | None = None
        """A person's shell whose own output goes to the logs."""
        self.jobs: tuple[int, ...] = ()
        """The jobs of that shell that write the logs, where there are several."""
        self._server: Stat | None = None
        """A program such as `screen` that writes the logs for one of several terminals."""

    @property
    def owners(self) -> frozenset[int]:
        """The users that own the logs."""
        return self._wanted.owners

    @property
    def writers(self) -> tuple[Writer, ...]:
        return tuple(self._writers.values())

    @property
    def logs(self) -> Mapping[str, float]:
        """When each log was written last, by real path; files only."""
        return self._wanted.written_at

    def alive(self) -> set[int]:
        return {writer.pid for writer in self._writers.values() if writer.alive}

    def find(self, table: OpenFileTable, now: float) -> None:
        """Find the processes that write now. `now` is unix time."""
        files = self._files()
        if self._looks % RESOLVE_EVERY == 0 or files != self._resolved_for:
            self._paths.ask({"logs": partial(self._wanted.resolve, files)})
            self._resolved_for = files
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
        """Check which of the known writers still live."""
        for identity, writer in self._writers.items():
            self._writers[identity] = self._as_it_is(identity, writer, now)
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
            return None
        way = "hangtop outside this container" if os.geteuid() == 0 else "sudo hangtop (or as that user)"
        return f"{way} shows {some(hidden, 'hidden process')} of the log's owner: one may write it"

    def _logs_in(self, table: OpenFileTable) -> list[str]:
        """The logs that a process has open for writing, by the kernel's names."""
        return sorted(target for target in table.holders if self._wanted.matches(target) or self._is_renamed(table, target))

    def _is_renamed(self, table: OpenFileTable, target: str) -> bool:
        """A process in a container has another path for the log: there the inode tells."""
        if not self._wanted.may_be_called(target):
            return False
        held = ((pid, file.fd) for pid in table.holders[target] for file in table.files[pid] if file.target == target)
        return any(self._wanted.is_inode(target, self._table.inode(pid, fd)) for pid, fd in held)

    def _record(self, stat: Stat, feeder: LogFeeder, now: float) -> None:
        """Record a writer when it is first seen, and what it writes each time. A young process may still become another
        program."""
        self._exits.watch(stat)
        started_at = self._table.started_at(stat.start_ticks)
        known = self._writers.get(stat.identity)
        if known is None or known.name != clean_words(stat.name) or now - started_at < YOUNG_S or known.command.startswith("["):
            known = Writer(stat.pid, started_at, clean_words(stat.name), self._command(stat), stat.start_ticks)
        self._writers[stat.identity] = replace(known, paths=tuple(sorted(map(clean_words, feeder.paths))), via=feeder.via)

    def _command(self, stat: Stat) -> str:
        words = self._commands.known({stat.identity: lambda: self._table.command(stat.pid)}).get(stat.identity)
        return command_line(words) if words else f"[{clean_words(stat.name)}]"

    def _as_it_is(self, identity: Identity, writer: Writer, now: float) -> Writer:
        """The writer as the table shows it now: a pid with another start time is another process."""
        stat = self._table.stats.get(identity.pid)
        if stat is not None and stat.identity == identity:
            if stat.state not in "ZX":
                return writer
            self._exits.watch(stat)
        gone_at = now if writer.gone_at is None else writer.gone_at
        code = writer.exit_code if writer.exit_code is not None else self._exits.code(identity)
        return replace(writer, alive=False, gone_at=gone_at, exit_code=code)

    def _forget_unwatched(self) -> None:
        """Forget living writers of files that are no longer watched: they are of another run."""
        for identity, writer in list(self._writers.items()):
            known = (self._wanted.matches(path) or self._wanted.may_be_called(path) for path in writer.paths)
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
