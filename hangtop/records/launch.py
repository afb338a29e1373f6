"""How a run was started: what it takes to start it again."""

from __future__ import annotations

from msgspec import Struct


class Launch(Struct, frozen=True, omit_defaults=True):
    """One start of a run. `environ_file` holds its whole environment, mode 0600, on its machine only: it can hold secrets.

    `output`: the file that its standard output went to, `None` when that was no plain file. `logs`: those that it was
    known by (real paths). `visible_devices`: its CUDA_VISIBLE_DEVICES. `attempt` counts from 1.
    """

    argv: tuple[str, ...]
    cwd: str
    environ_file: str
    pid: int
    start_ticks: int
    started_at: float
    output: str | None = None
    logs: tuple[str, ...] = ()
    visible_devices: str | None = None
    attempt: int = 1
    exit_code: int | None = None


class LaunchReading(Struct, frozen=True, omit_defaults=True, tag="launch"):
    """The answer to a `LaunchAsk`: how the run was started, or in `problem` why nobody can tell."""

    ask: int
    launch: Launch | None = None
    problem: str | None = None
