"""One Ray session as it lies on this machine, for who wants to stop it or start it again: processes, options, leftovers."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hangtop.records.plan import LeftAlone, RayStart, Removal

RayKind = Literal["driver", "raylet", "gcs_server", "worker", "daemon"]
"""What a process is in its session. `worker` and `daemon` have with them what they started."""


class RayProcess(Struct, frozen=True, omit_defaults=True):
    """A process of the session on this machine. `title`: what it is, in a word or two. `job`: that a driver drives."""

    pid: int
    start_ticks: int
    started_at: float
    ppid: int
    command: str
    state: str
    kind: RayKind
    title: str = ""
    uid: int | None = None
    user: str | None = None
    rss_bytes: int | None = None
    job: str | None = None


class RayMatch(Struct, frozen=True):
    """A process that the plain `ray stop` would end, because of a word in its name or command line."""

    pid: int
    start_ticks: int
    command: str
    word: str


class RaySession(Struct, frozen=True, omit_defaults=True, tag="ray_session"):
    """The answer to a `RayAsk`.

    `starts`: what starts it again, the head first; empty when that is not known, then `unknown` says why. `holder`: pid of the
    driver whose `ray.init()` started the daemons, so that nobody can start them but that driver. `removals`: what is left of this
    session alone once its processes are gone; `kept`: what stays. `matches`: what plain `ray stop` would end.
    """

    ask: int
    session: str = ""
    folder: str | None = None
    processes: tuple[RayProcess, ...] = ()
    starts: tuple[RayStart, ...] = ()
    unknown: str = ""
    holder: int | None = None
    removals: tuple[Removal, ...] = ()
    kept: tuple[LeftAlone, ...] = ()
    matches: tuple[RayMatch, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str | None = None
