"""The source "runs": training runs on this machine, found by their open logs, for a person who named no log."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import PurePath

from hangtop.common.clean_words import clean_words
from hangtop.common.text import are, some
from hangtop.probe.context import ProbeContext
from hangtop.probe.source import Source
from hangtop.records.reading import Value
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.system.files.file_writers import TERMINAL_RELAYS, LogFeeder, OpenFileTable, find_feeders, sources_of
from hangtop.system.files.open_files import LOG_ENDINGS, OpenFiles
from hangtop.system.guard import Guard
from hangtop.system.processes.environments import ProcessFactTable
from hangtop.system.processes.login_shells import LoginShells
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.roles import RELAYS, is_hangtop
from hangtop.system.processes.table import ProcessTable
from hangtop.system.processes.training_commands import framework_of, looks_like_training
from hangtop.system.processes.tree import children_of, descendants
from hangtop.system.processes.users import Users

NOT_LOGS = ("/dev/", "/proc/", "/sys/", "/var/log/", "/var/lib/", "/memfd:")
RAY_OWN = re.compile(r"/session_[^/]+/logs/(?!job-driver-)")
"""Logs of Ray itself and of its workers; a run's log is that of its driver."""
MAX_CANDIDATES = 50


class RunsSource(Source):
    """Finds runs every two seconds: files that training processes, or a relay behind them, have open for writing."""

    interval_s = 2.0

    def __init__(self, context: ProbeContext, table: ProcessTable | None = None) -> None:
        self._table = table or open_table()
        self._files = OpenFiles(self._table)
        self._shells = LoginShells(self._table)
        self._facts = ProcessFactTable(self._table)
        self._sizes: Guard[str, os.stat_result] = Guard()
        self._users = Users()

    def read(self, now: float) -> Iterable[Value]:
        self._table.refresh(())
        self._files.refresh(now)
        table = OpenFileTable(self._table.stats, self._files.by_pid(), self._shells.find(now))
        children = children_of(table.stats)
        self._facts.forget_gone()
        found = [self._candidate(table, children, feeder, now) for feeder in self._feeders(table, now)]
        # known frameworks first, then the log that was written last
        found.sort(key=lambda run: (run.framework == "generic" and run.ranks == 0, -(run.log_modified_at or 0.0)))
        hidden = 0 if os.geteuid() == 0 else len(self._files.denied())
        what = f"{some(hidden, 'process')} of other users {are(hidden)} not shown"
        note = f"{what}: sudo hangtop shows the runs of all users" if hidden else None
        yield RunsReading(tuple(found[:MAX_CANDIDATES]), note)

    def _feeders(self, table: OpenFileTable, now: float) -> tuple[LogFeeder, ...]:
        """The topmost writers of logs that look like those of training: by the command, environment or GPUs of a writer, or by
        the name of the log. Descendants of a writer do not count: training may run in the terminal of an editor that writes a
        log."""
        own = (os.getpid(), os.getppid())
        logs = [log for log in _open_logs(table) if self._is_of_a_run(table, log, _speakers(table, log, own), now)]
        return find_feeders(table, logs, own)

    def _is_of_a_run(self, table: OpenFileTable, log: str, pids: Collection[int], now: float) -> bool:
        facts = {pid: known for pid, known in self._facts.of(pids, now).items() if not is_hangtop(known.command)}
        gpus = any(file.target.startswith("/dev/nvidia") for pid in facts for file in table.files.get(pid, ()))
        if gpus or (facts and looks_like_training((PurePath(log).name,))):
            return True
        told = facts.values()
        return looks_like_training((" ".join(known.command) for known in told), (known.environ for known in told))

    def _candidate(self, table: OpenFileTable, children: Mapping[int, list[int]], feeder: LogFeeder, now: float) -> RunCandidate:
        stat = table.stats[feeder.pid]
        facts = self._facts.of(descendants(children, feeder.pid), now)
        log, size, modified_at = self._seen(_to_watch(table, feeder), feeder.pid)
        return RunCandidate(
            log=clean_words(log),
            pid=feeder.pid,
            started_at=self._table.started_at(stat.start_ticks),
            start_ticks=stat.start_ticks,
            command=facts[feeder.pid].line,
            framework=framework_of(" ".join(known.command) for known in facts.values()) or "generic",
            user=self._users.name(self._table.owner(feeder.pid)),
            via=feeder.via,
            logs=len(feeder.paths),
            ranks=len({rank for known in facts.values() if (rank := known.environ.get("RANK")) is not None}),
            log_bytes=size,
            log_modified_at=modified_at,
        )

    def _seen(self, log: str, pid: int) -> tuple[str, int | None, float | None]:
        """Path, size and time of change of a log. In a container it is reached through /proc."""
        inside = f"/proc/{pid}/root{log}"
        answers = self._sizes.known({path: partial(os.stat, path) for path in (log, inside)})
        for path in (log, inside):
            if (status := answers.get(path)) is not None:
                return path, status.st_size, status.st_mtime
        return log, None, None


def _to_watch(table: OpenFileTable, feeder: LogFeeder) -> str:
    """Its standard output or error if that is a log; else the one log it writes, or the directory that holds them all."""
    own = {file.fd: file.target for file in table.files.get(feeder.pid, ()) if file.target in feeder.paths}
    for fd in (1, 2):
        if fd in own:
            return own[fd]
    return min(feeder.paths) if len(feeder.paths) == 1 else os.path.commonpath(feeder.paths)


def _speakers(table: OpenFileTable, log: str, own: Collection[int]) -> set[int]:
    """The pids that write to this log; with `script`, all processes of its terminal."""
    sources = sources_of(table, log, own)
    children = children_of(table.stats)
    there = (descendants(children, pid) if via in TERMINAL_RELAYS else (pid,) for pid, via in sources.items())
    return {pid for pids in there for pid in pids}


def _open_logs(table: OpenFileTable) -> list[str]:
    """Files that may be the log of a run: a standard output or error, held by a relay, or with the name of a log."""
    plain = {path: pids for path, pids in table.holders.items() if path.startswith("/") and not path.startswith(NOT_LOGS)}
    return sorted(
        path for path, pids in plain.items() if not RAY_OWN.search(path) and any(_logs(table, pid, path) for pid in pids)
    )


def _logs(table: OpenFileTable, pid: int, path: str) -> bool:
    """Whether this process uses the file like a log."""
    if path.endswith(LOG_ENDINGS) or table.stats[pid].name in RELAYS:
        return True
    return any(file.fd in (1, 2) for file in table.files[pid] if file.target == path)
