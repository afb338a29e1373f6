"""What is known of the run's processes. A process is a pid *and* its start time: pids are reused."""

from __future__ import annotations

from msgspec import Struct


class Writer(Struct, frozen=True, omit_defaults=True):
    """A process that holds a watched log open for writing (or feeds it through `tee`)."""

    pid: int
    started_at: float
    name: str
    command: str
    files: tuple[int, ...] = ()
    alive: bool = True
    gone_at: float | None = None
    exit_code: int | None = None


class ProcessReading(Struct, frozen=True, omit_defaults=True, tag="procs"):
    """Who writes the logs. `writers` keeps those that are gone, with the time when that was seen."""

    writers: tuple[Writer, ...] = ()
    note: str | None = None
