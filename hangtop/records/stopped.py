"""A stop of the run by hangtop itself: what ended it was a person, not an error."""

from __future__ import annotations

from msgspec import Struct


class RunPlace(Struct, frozen=True, omit_defaults=True):
    """Where a run stands: its logs (paths), the title of its stage, its step."""

    logs: tuple[str, ...]
    stage: str = ""
    step: int | None = None


class StoppedRun(Struct, frozen=True, omit_defaults=True):
    """One stop. Unix times. `ended_at`: when all of the run was proven to be gone, `None` while the stop is under way.

    `sizes`: bytes of each log at that moment: a log that has grown since is another attempt's.
    `performer_pid`, `performer_start_ticks`: the process that carries it out.
    """

    action: str
    place: RunPlace
    began_at: float
    performer_pid: int
    performer_start_ticks: int
    ended_at: float | None = None
    sizes: dict[str, int] = {}
