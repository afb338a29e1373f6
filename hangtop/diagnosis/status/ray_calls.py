"""Which members of a run on Ray a hang can hang on: those that have a call running and wait for no other call. Pure.

A worker of Ray stands in one of three ways, and its stack tells which. It idles in Ray's own loop until it is called; it waits
in `ray.get` or `ray.wait` for a call that another worker runs; or it runs a call. Neither of the first two is work, whatever
Ray's C++ threads take meanwhile, and neither is a cause: who waits for a call waits for the one that runs it.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.diagnosis.status.member_status import COROUTINES, MemberStatus
from hangtop.records.process import Process
from hangtop.records.ray.cluster import RayActor
from hangtop.records.ray.titles import WorkerTitle, assigned_title
from hangtop.stacks.ray_waits import ray_wait
from hangtop.state.run_state import RunState

Members = tuple[MemberStatus, ...]
RAYS_OWN_ACTORS = frozenset({"_QueueActor", "ServeController", "ProxyActor", "_StatsActor", "AutoscalingRequester"})
"""Actors that Ray's libraries start to keep what others ask for. A call of theirs that awaits is answered when another call
comes, or something changes, and may be open for ever (ray/util/queue.py, ray/serve/_private, ray/data/_internal, Ray 2.60)."""


def title_of(process: Process) -> WorkerTitle | None:
    """What its title says; `None` for what is no worker of Ray, or one in reserve."""
    return assigned_title(process.command) if process.role in ("ray worker", "rank") else None


def is_rays_own(process: Process) -> bool:
    """Whether it is an actor of one of Ray's own libraries, that only serves others."""
    title = title_of(process)
    return title is not None and title.cls in RAYS_OWN_ACTORS


def method_of(member: MemberStatus) -> str:
    """`Worker.update`, what it runs by its title; empty between calls."""
    title = title_of(member.process)
    return f"{title.cls}.{title.method}" if title is not None and title.method is not None else ""


def at_work_elsewhere(state: RunState) -> list[RayActor]:
    """The run's actors on other nodes that run a call, or may."""
    actors = (actor for cluster in clusters_of_run(state) for actor in cluster.actors)
    return [
        actor for actor in actors if actor.pid is None and actor.ray_pid is not None and actor.state in ("running", "unknown")
    ]


def in_question(members: Members, *, elsewhere: bool = False) -> tuple[Members, Members]:
    """(the members that a hang may hang on, those that only idle or wait for a call). `elsewhere`: calls run on other nodes, so
    that waiting for one proves nothing.

    Where calls run, the idle are beside the point, with one exception: where all that run wait for their peers, one that idles
    may be the peer that never came. Where no call runs, those that wait for one are left, else those that only look now and
    then. Workers that all idle prove nothing: nobody may have called them.
    """
    here = [member for member in members if member.status != "gone"]
    aside = {member.pid for member in here if ray_wait(member.activity)}
    if not aside:
        return members, ()
    running = [member for member in here if member.pid not in aside and not _stands_by(member)]
    if any(member.waits_for_peers and member.rank is not None for member in running) and not _ranks_wait_for_calls(here):
        running = [member for member in running if member.rank is not None]
    if running and all(member.waits_for_peers for member in running):
        aside = {member.pid for member in here if member not in running and member.rank is None}
    elif running:
        aside = {member.pid for member in here if member not in running}
    else:
        callers = [member.pid for member in here if ray_wait(member.activity) == "call"]
        awaiting = _awaiting(here) if callers else []  # a threaded actor keeps the title of its last call
        left = awaiting or callers or [member.pid for member in here if member.pid not in aside]
        left = [] if elsewhere and not awaiting else left
        aside = {member.pid for member in here if member.pid not in left} if left or len(here) == len(members) else set()
    return _split([_as_awaiting(member) for member in members], aside)


def _ranks_wait_for_calls(here: Iterable[MemberStatus]) -> bool:
    """Whether a rank waits for a call, which an actor without a number may run. Else such an actor has no part in what ranks that
    wait for each other wait for: it may serve for ever."""
    return any(member.rank is not None and ray_wait(member.activity) == "call" for member in here)


def _awaiting(here: Iterable[MemberStatus]) -> list[int]:
    """Pids of those that idle by their stack, and whose coroutines wait, which stand on none: those whose event loop has set a
    moment, else those that run a method by their title."""
    others = [member for member in here if not is_rays_own(member.process)]
    timed = [member.pid for member in others if member.call == COROUTINES]
    return timed or [member.pid for member in others if ray_wait(member.activity) == "idle" and method_of(member)]


def _as_awaiting(member: MemberStatus) -> MemberStatus:
    if member.call == COROUTINES or ray_wait(member.activity) != "idle" or not (method := method_of(member)):
        return member
    return replace(member, text=f"is in {method} by its title, and awaits")


def _split(members: Iterable[MemberStatus], aside: set[int]) -> tuple[Members, Members]:
    known = tuple(members)
    return tuple(m for m in known if m.pid not in aside), tuple(m for m in known if m.pid in aside)


def _stands_by(member: MemberStatus) -> bool:
    """Whether it only looks now and then: a driver that asks its actors how far they are, an actor that keeps books."""
    return member.rank is None and member.status == "waits" and member.does in ("sleep", "idle", "join")
