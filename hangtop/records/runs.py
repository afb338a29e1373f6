"""The training runs found on this machine, for a user who named no log."""

from __future__ import annotations

from msgspec import Struct


class RunCandidate(Struct, frozen=True, omit_defaults=True):
    """A run that writes a log: its topmost process, and its framework, guessed by the command lines.

    `log`: the value for `--log`; the directory, if one process writes several files. `logs`: how many it writes.
    """

    log: str
    pid: int
    started_at: float
    start_ticks: int
    command: str
    framework: str = "generic"
    user: str | None = None
    via: str | None = None
    logs: int = 1
    ranks: int = 0
    log_bytes: int | None = None
    log_modified_at: float | None = None


class RunsReading(Struct, frozen=True, omit_defaults=True, tag="runs"):
    """The most likely run first. `note`: one line on what could not be seen, with the command that would show it."""

    candidates: tuple[RunCandidate, ...] = ()
    note: str | None = None
