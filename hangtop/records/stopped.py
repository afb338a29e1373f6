"""A stop of the run by hangtop itself, or by a signal that its guard handed on: somebody ended it, not an error."""

from __future__ import annotations

from msgspec import Struct


class RunPlace(Struct, frozen=True, omit_defaults=True):
    """Where a run stands: its logs (paths), the title of its stage, its step."""

    logs: tuple[str, ...]
    stage: str = ""
    step: int | None = None


FOR_GUARD = "HANGTOP_FOR_GUARD"
"""Set in the environment of a command of hangtop that a guard carries out, to the deed of which it is a part."""
AWAITS_GUARD = "hangtop: the plan stands; a line on stdin begins it"
"""Such a command says this line before it changes anything, and waits. One that refuses ends without it."""


class StoppedRun(Struct, frozen=True, omit_defaults=True):
    """One stop, in unix times. `ended_at`: when the whole run was proven to be gone, `None` while the stop goes on.

    `sizes`: bytes of each log at that moment: a log that has grown since belongs to another attempt.
    `performer_pid`, `performer_start_ticks`: the process that carries out the stop. `signal`: the one that a guard was sent and
    handed on to the run; empty where hangtop itself stopped it. `by_guard`: for a guard, whose policy wanted it.
    """

    action: str
    place: RunPlace
    began_at: float
    performer_pid: int
    performer_start_ticks: int
    ended_at: float | None = None
    sizes: dict[str, int] = {}
    signal: str = ""
    by_guard: bool = False
