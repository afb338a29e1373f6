"""What a deed of a guard needs to know, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

from hangtop.guard.episodes import Course
from hangtop.guard.events import GuardEvent
from hangtop.guard.policy import Deed, Policy
from hangtop.records.watch_spec import WatchSpec

LIMIT_S: dict[Deed, float] = {
    "stacks": 120,
    "picture": 120,
    "bundle": 300,
    "run": 600,
    "stop": 600,
    "restart": 1200,
    "recover": 1800,
}
"""After this a deed is given up; its executor goes on by itself, and its proof is in the log of actions."""


class Outcome(Struct, frozen=True):
    """`nothing`: nothing was changed, so it may be tried again."""

    went: bool
    text: str
    nothing: bool = False


class Case(Struct, frozen=True):
    """What a deed needs to know. `folder`: in which the guard was started. `called_off`: is set when the run goes on; what has
    begun by then is ended all the same. `checkpoints`: their directory, if it is known to be this run's. `told_at`: when the run
    last told anything new. `lives`: a process of it does; `unseen`: one may, on a node that cannot be seen. `begins`: takes down
    that a deed which ends or starts processes begins, or which part of it; returns whether that could be written: else it is not
    to be done. `unwanted`: why nothing is to be ended or started any more, in words."""

    spec: WatchSpec
    policy: Policy
    event: GuardEvent
    at: float
    folder: str
    called_off: asyncio.Event
    begins: Callable[[Course | None], bool]
    unwanted: Callable[[], str] = lambda: ""
    checkpoints: str | None = None
    told_at: float | None = None
    lives: bool = True
    unseen: bool = False

    def not_begun(self, course: Course | None) -> Outcome | None:
        """Why nothing is ended or started at this moment; `None` once it is written down that it is."""
        if why := self.unwanted():
            return Outcome(False, f"not begun: {why}", nothing=True)
        return None if self.begins(course) else NOT_WRITTEN


NOT_WRITTEN = Outcome(False, "not begun: it could not be written down", nothing=True)
CALLED_OFF = Outcome(False, "called off: the run goes on", nothing=True)


def failed(error: OSError) -> Outcome:
    """What the system said."""
    return Outcome(False, f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
