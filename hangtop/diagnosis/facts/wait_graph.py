"""Which process waits for which: chains to the process at their end, and dead-locks. Pure.

A thread waits for *any* of its ends (poll), and an end acts when *any* of its processes does, except for a lock held by several.
So a circle alone is no dead-lock: one is where nothing else could end any of the waits. A process goes on while one of its
threads can, and where not all of them were seen, those of a group are told."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from hangtop.records.waiting import OtherEnd, ThreadWait, WaitObject, WaitReading


class WaitEdge(Struct, frozen=True, omit_defaults=True):
    """`waiter` waits for `holder` at this object. `tid`: the thread. `choices`: how many processes could end the wait, all its
    ends together; with more than one, `holder` is one that may, not one that must. `hidden`: so many processes could not be read,
    one of which might end it too. `timed`: the call has a limit, after which its program may ask again."""

    waiter: int
    holder: int
    tid: int
    object: WaitObject
    choices: int = 1
    hidden: int = 0
    timed: bool = False


class WaitGraph(Struct, frozen=True, dict=True):
    """`threads`: by pid, all that were looked at. `complete`: the pids of which these are all."""

    threads: Mapping[int, tuple[ThreadWait, ...]]
    complete: frozenset[int]
    edges: tuple[WaitEdge, ...]

    @cached_property
    def by_waiter(self) -> dict[int, list[WaitEdge]]:
        found: dict[int, list[WaitEdge]] = {}
        for edge in self.edges:
            found.setdefault(edge.waiter, []).append(edge)
        return found


class DeadLock(Struct, frozen=True):
    """Processes that wait for each other, none of which can go on by itself; `edges` between them. `behind`: further processes
    that can only go on after these. `hidden`: so many processes could not be read: the greatest number of all edges.
    `partly_seen`: pids whose other threads were not looked at, one of which may go on."""

    pids: tuple[int, ...]
    edges: tuple[WaitEdge, ...]
    behind: tuple[int, ...] = ()
    hidden: int = 0
    partly_seen: tuple[int, ...] = ()


def wait_graph(reading: WaitReading) -> WaitGraph:
    """Of one look."""
    by_pid: dict[int, tuple[ThreadWait, ...]] = {}
    for thread in reading.threads:
        by_pid[thread.call.pid] = (*by_pid.get(thread.call.pid, ()), thread)
    edges = tuple(edge for found in by_pid.values() for thread in found for edge in _edges(thread))
    return WaitGraph(by_pid, frozenset(reading.complete), edges)


def _edges(thread: ThreadWait) -> Iterable[WaitEdge]:
    choices = len({pid for end in thread.ends for pid in end.pids})
    for end in thread.ends:
        for pid in end.pids:
            yield WaitEdge(thread.call.pid, pid, thread.call.tid, end.object, choices, end.hidden, thread.call.timed is True)


def chains(graph: WaitGraph, pid: int, *, every_thread: bool = False) -> tuple[tuple[WaitEdge, ...], ...]:
    """The shortest way from this process to each process at the end of its waits: one that waits for no other, or was not looked
    at. Empty for a process that waits for none, and where all ways lead into a circle. By what first threads wait for,
    if not for `every_thread`: others are often event loops that wait for all their peers at any time (gloo's does)."""
    reached: dict[int, tuple[WaitEdge, ...]] = {pid: ()}
    queue, found = deque([pid]), []
    while queue:
        at = queue.popleft()
        first = graph.threads[at][0].call.tid if at in graph.threads else at  # its pid, unless that thread has ended
        onward = [edge for edge in graph.by_waiter.get(at, ()) if edge.holder != at and (every_thread or edge.tid == first)]
        if not onward and at != pid:
            found.append(reached[at])
        for edge in onward:
            if edge.holder not in reached:
                reached[edge.holder] = (*reached[at], edge)
                queue.append(edge.holder)
    return tuple(found)


def dead_locks(graph: WaitGraph) -> tuple[DeadLock, ...]:
    """Groups of processes that can only go on after one another. Who was not looked at, computes, sleeps, has a limit, or waits
    for something whose other end is not known, can go on. A signal from outside could still wake them (signal(7))."""
    stuck = set(graph.threads)
    while free := {pid for pid in stuck if any(_can_go_on(each, graph, stuck) for each in graph.threads[pid])}:
        stuck -= free
    between = [edge for edge in graph.edges if edge.waiter in stuck and edge.holder in stuck]
    after: dict[int, set[int]] = {pid: {edge.holder for edge in between if edge.waiter == pid} for pid in stuck}
    groups = _circles(after)
    behind = {frozenset(group): tuple(sorted(pid for pid in stuck - group if group & _reach(after, pid))) for group in groups}
    return tuple(_dead_lock(group, between, behind[frozenset(group)], group - graph.complete) for group in groups)


def _dead_lock(group: set[int], between: list[WaitEdge], behind: tuple[int, ...], partly: set[int]) -> DeadLock:
    inside = tuple(edge for edge in between if edge.waiter in group and edge.holder in group)
    hidden = max((edge.hidden for edge in inside), default=0)
    return DeadLock(tuple(sorted(group)), inside, behind, hidden, tuple(sorted(partly)))


def _can_go_on(thread: ThreadWait, graph: WaitGraph, stuck: set[int]) -> bool:
    """As far as is known, without those in `stuck`. What one thread of a process waits for from the others says nothing while
    these were not looked at."""
    if thread.call.state in "TtZX":
        return thread.call.state in "Tt"  # whoever stopped it may let it go on; an ended thread never does
    if thread.call.kind is None or thread.call.unread is not None or thread.call.timed or not thread.ends:
        return True
    if thread.call.kind == "futex" and thread.call.pid not in graph.complete:
        return True
    return any(_can_end(end, stuck) for end in thread.ends)


def _can_end(end: OtherEnd, stuck: set[int]) -> bool:
    if not end.known or not end.pids:
        return True
    there = [pid not in stuck for pid in end.pids]
    return all(there) if end.all_needed else any(there)


def _circles(after: Mapping[int, set[int]]) -> list[set[int]]:
    """Groups in which each is reached from each, one that waits for itself among them. A look at all pairs
    will do: they are few."""
    reach = {pid: _reach(after, pid) for pid in after}
    groups = {
        frozenset({pid} | {other for other in found if pid in reach[other]}) for pid, found in reach.items() if pid in found
    }
    return sorted(map(set, groups), key=min)


def _reach(after: Mapping[int, set[int]], pid: int) -> set[int]:
    """All that this one waits for, directly or behind others; itself only if it is in a circle."""
    found: set[int] = set()
    queue = [pid]
    while queue:
        for other in after.get(queue.pop(), ()):
            if other not in found:
                found.add(other)
                queue.append(other)
    return found
