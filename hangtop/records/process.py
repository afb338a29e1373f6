"""What is known of the run's processes. A process is a pid *and* its start time: pids are reused."""

from __future__ import annotations

from msgspec import Struct


class Writer(Struct, frozen=True, omit_defaults=True):
    """A process that writes a watched log, itself or `via` a relay such as `tee`.

    `started_at` and `start_ticks` (clock ticks after boot, exact) make it this process and no other of the same pid.
    `exit_code`: 0…255, or minus the signal that ended it; `None` while it lives and when the kernel does not tell.
    """

    pid: int
    started_at: float
    name: str
    command: str
    start_ticks: int = 0
    paths: tuple[str, ...] = ()
    via: str | None = None
    alive: bool = True
    gone_at: float | None = None
    exit_code: int | None = None


class ProcessReading(Struct, frozen=True, omit_defaults=True, tag="procs"):
    """Who writes the logs. `writers` keeps those that are gone, with the time when that was seen.

    `hidden`: how many processes might write the logs as well, but belong to a user whose files we may not see. No writer and
    nothing hidden proves that nobody writes. `note`: one line on what is missing, with the command that grants it.
    """

    writers: tuple[Writer, ...] = ()
    hidden: int = 0
    note: str | None = None
