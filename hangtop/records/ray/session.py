"""One Ray session on this machine, for stopping or restarting it: processes, options, leftovers."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hangtop.records.plan import LeftAlone, RayStart, Removal

RayKind = Literal["driver", "raylet", "gcs_server", "worker", "daemon"]
"""The role of a process in its session. The children of a worker or daemon count as `worker` or `daemon`."""


class RayProcess(Struct, frozen=True, omit_defaults=True):
    """A process of the session on this machine. `title`: its role in a word or two. `job`: the job of a driver."""

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
    """A process that plain `ray stop` would end, because of a word in its name or command line."""

    pid: int
    start_ticks: int
    command: str
    word: str


class RaySession(Struct, frozen=True, omit_defaults=True, tag="ray_session"):
    """The answer to a `RayAsk`.

    `starts`: the commands that start it again, the head first; if they are not known, `unknown` says why. `holder`: pid of the
    driver whose `ray.init()` started the daemons; only that driver can start them again. `removals`: files that only this session
    leaves once its processes are gone; `kept`: what stays. `matches`: what plain `ray stop` would end.
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
