"""A program in an event loop, of which only a monitor goes on: lines come that it wrote between its steps, too, and the next of
them is the only moment that the loop has set itself. Its other tasks wait for each other, and nothing else could wake one."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.diagnosis.facts.other_side import side_of
from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.diagnosis.status.by_waits import current_watch
from hangtop.diagnosis.status.member_status import MemberStatus, stacks_of, works
from hangtop.records.waiting import ThreadWait, outer_ends
from hangtop.records.watched_waits import WatchedProcess
from hangtop.state.run_state import RunState

ONE = 1


def only_tick(state: RunState, members: Sequence[MemberStatus], pause_s: float) -> frozenset[int]:
    """The pids of such members, as far as their waits were watched. `pause_s`: the silence that a sleep explains."""
    watch = current_watch(state, pause_s)
    if watch is None or state.procs is None:
        return frozenset()
    parents = {process.ppid for process in state.procs.processes if not process.exited}
    return frozenset(
        member.pid
        for member in members
        if member.does == "idle" and member.pid not in parents and _one_timer(state, member) and _nothing_else(watch, member)
    )


def _one_timer(state: RunState, member: MemberStatus) -> bool:
    """Whether no look found more than one moment set."""
    looks = stacks_of(member.process, state.looks)
    timers = [thread.timers for _, stack in looks for thread in stack.threads if thread.timers is not None]
    return len(timers) == len(looks) > 0 and max(timers) <= ONE and not works(member.process)


def _nothing_else(watch: Watch, member: MemberStatus) -> bool:
    """Whether nobody outside could wake it, or only such that wait to be asked, and all its other threads wait for something to
    do."""
    process = watch.processes.get(member.pid)
    if process is None or not process.complete or not process.threads:
        return False
    first, *others = process.threads
    alone = not outer_ends(first) or _is_owed_nothing(watch, process, first)
    return first.call.kind == "poll" and alone and all(map(_waits_for_work, others))


def _is_owed_nothing(watch: Watch, process: WatchedProcess, first: ThreadWait) -> bool:
    """Whether all its connections lead to one server that waits for requests, and no byte is on its way there."""
    side = side_of(watch, process, first)
    server = watch.processes.get(side.pid or 0) if side is not None and side.kind == "idle" else None
    return server is not None and bool(server.listens) and not any(moves.queued for moves in process.sockets)


def _waits_for_work(thread: ThreadWait) -> bool:
    return thread.call.kind == "futex" and thread.call.timed is False
