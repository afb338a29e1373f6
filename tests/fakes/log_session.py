"""A log source and the state that its readings make; lines to write into its files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from hangtop.common import clock
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.log_source import LogSource
from hangtop.probe.log.profile_files import ProfileFiles
from hangtop.records import wire
from hangtop.records.log import LogReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from tests.fakes.processes import PATIENCE_S
from tests.fakes.read_log import INDEX

_LOAD = ProfileFiles._load


def _shared(files: ProfileFiles) -> LiteralIndex:
    """The package's own index, made once: it is never changed, and to make one takes longer than to read a short log."""
    return INDEX if files._user_dir is None and files._extra is None else _LOAD(files)


class Session:
    """A source and the state that its readings make, as the screen would have it."""

    def __init__(self, *logs: str | Path, **spec: object) -> None:
        self.spec = WatchSpec(logs=tuple(os.fspath(log) for log in logs), **spec)  # type: ignore[arg-type]
        self.source = LogSource(ProbeContext(self.spec))
        self.state = RunState()
        self.readings: list[LogReading] = []

    def read(self, later_s: float = 0.0) -> list[LogReading]:
        new = []
        with mock.patch.object(ProfileFiles, "_load", _shared):
            values = list(self.source.read(clock.now() + later_s))
        for value in values:
            line = wire.encode(Reading("log", "here", clock.now(), value))  # what cannot travel is no reading
            self.state = fold(self.state, wire.decode_reading(line))
            new.append(value)
        self.readings += new
        return new

    def until(self, true: Callable[[LogReading], bool]) -> LogReading:
        """Reads on until the newest reading is as wanted."""
        ends_at = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends_at:
            self.read()
            if self.state.log is not None and true(self.state.log):
                return self.state.log
            time.sleep(0.02)
        raise AssertionError(f"never came: last was {self.state.log}")

    @property
    def texts(self) -> list[str]:
        """As the log pane shows them: a line told again (a bar redraws itself, a rank became known) takes its own place."""
        return list({(line.file, line.offset): line.text for line in self.state.tail}.values())


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def settled(log: LogReading) -> bool:
    return log.caught_up and log.lines is not None


def steps(first: int, last: int, rank: int = 0) -> str:
    return "".join(f"[rank{rank}]: step {n}/1000 loss {1 / n:.4f}\n" for n in range(first, last))
