"""How a run was started, for who wants to start it again: by the book of starts, or read from the living process and kept."""

from __future__ import annotations

import os
from collections.abc import Iterable

from hangtop import launches
from hangtop.records.ask import Ask, LaunchAsk
from hangtop.records.launch import Launch, LaunchReading
from hangtop.records.reading import Value
from hangtop.sources.proc.table import ProcessTable
from hangtop.sources.processes import open_table
from hangtop.spec import WatchSpec


class LaunchSource:
    """Answers `LaunchAsk`; says nothing by itself."""

    name = "launch"
    interval_s = 5.0
    deadline_s = 5.0

    def __init__(self, spec: WatchSpec, table: ProcessTable | None = None) -> None:
        self._logs = spec.logs
        self._table = table or open_table()

    def read(self, now: float) -> Iterable[Value]:
        return ()

    def answer(self, ask: Ask, now: float) -> Iterable[Value]:
        """The environment itself is not in the answer: it can hold secrets, and readings are recorded."""
        if not isinstance(ask, LaunchAsk):
            return
        try:
            found = self._of_log() if ask.pid is None else self._of_process(ask.pid, ask.start_ticks)
        except OSError as error:
            yield LaunchReading(ask.ask, problem=f"how it was started cannot be read: {error.strerror}: {error.filename}")
            return
        except LookupError as error:
            yield LaunchReading(ask.ask, problem=str(error))
            return
        yield LaunchReading(ask.ask, found)

    def _of_log(self) -> Launch:
        """Of a run that has ended."""
        found = [known for log in self._logs if (known := launches.latest(os.path.realpath(log))) is not None]
        if not found:
            raise LookupError("no process of this run lives, and hangtop did not start it: its command line is not known")
        return found[-1]

    def _of_process(self, pid: int, start_ticks: int) -> Launch:
        """What hangtop started is known; of others everything is read while they live, and kept."""
        if (known := launches.of_process(pid, start_ticks)) is not None:
            return known
        argv, environ = self._table.command(pid), self._table.environ(pid)
        cwd, output = self._table.cwd(pid), _plain_file(f"/proc/{pid}/fd/1")
        self._table.refresh((pid,))
        stat = self._table.stats.get(pid)
        if stat is None or stat.start_ticks != start_ticks:
            raise LookupError(f"pid {pid} has ended")
        if not argv or argv[0].startswith("ray::") or " " in argv[0]:
            raise LookupError(f"pid {pid} has written another title over its command line: start it again yourself")
        started_at = self._table.started_at(start_ticks)
        logs = tuple(os.path.realpath(log) for log in self._logs)
        visible = environ.get("CUDA_VISIBLE_DEVICES")
        place = launches.keep_environ(environ)
        kept = Launch(argv, cwd, place, pid, start_ticks, started_at, output, logs=logs, visible_devices=visible)
        launches.keep(kept)
        return kept


def _plain_file(link: str) -> str | None:
    """The file that this descriptor leads to, if that is a plain file with a name."""
    target = os.readlink(link)
    return target if target.startswith("/") and not target.startswith("/dev/") and not target.endswith(" (deleted)") else None
