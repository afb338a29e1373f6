"""A line that tells of an end may end a part only: an epoch, a phase, an earlier attempt. Does anybody of the run still work, or
wait for what never comes?

Facts only: which processes live, whether they compute or move bytes, whether their main program is over, and what each waits for.
What stands by after the end (a server that nobody asks, a pod that sleeps) does none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hangtop.diagnosis.facts.author_fate import is_ending
from hangtop.diagnosis.facts.silence_limits import FINISH
from hangtop.diagnosis.members.rank_numbering import serves
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.apart import standing
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.stack import listening
from hangtop.stacks.activity import activity_of, waits_within
from hangtop.stacks.frames import DoingKind

IN_VAIN = ("idle", "nobody", "dead", "stopped")
"""What a process at the other end does that answers nobody."""
BY_ANOTHER: frozenset[DoingKind | None] = frozenset({"lock", "queue", "pipe", "child"})
"""Waits that another process ends, unless they are for a thread of one's own."""


def works_on(snapshot: Snapshot) -> bool:
    """Whether a process of the run works, though its log told of the end."""
    return any(member.status in ("works", "loops") for member in _here(snapshot))


def in_exit_handler(snapshot: Snapshot) -> bool:
    """Whether a process of the run is in a function that its source gives to `atexit`, and that the interpreter called: no module
    stands around it."""
    living = {member.pid for member in _living(snapshot)}
    last = snapshot.state.looks[-1:]
    mains = (stack.main for look in last for stack in look.stacks if stack.pid in living)
    outermost = [main.frames[-1] for main in mains if main is not None and main.frames]
    told = {(each.file, each.at) for look in snapshot.state.looks for each in look.excerpts if each.at_exit}
    return any((frame.file, frame.line) in told for frame in outermost)


def may_work_on(snapshot: Snapshot) -> bool:
    """Whether the log told of the end, and processes live of which one look cannot tell whether they work."""
    at_end = snapshot.stage is not None and snapshot.stage.id == FINISH
    return at_end and any(member.process.recent is None and member.process.cpu_percent is None for member in _here(snapshot))


def never_leaves(snapshot: Snapshot) -> bool:
    """Whether all that live after the end stand in waits that nobody ends: for their peers, for each other, for a process that
    does nothing; or a thread was left that nothing wakes. A silence within the limit may be the usual way to leave."""
    living = tuple(_living(snapshot))
    if not snapshot.is_quiet or snapshot.log.ray is not None or not living:
        return False
    if not all(member.waits_for_peers or (member.status == "waits" and member.moved is False) for member in living):
        return False
    if any(member.waits_for_peers for member in living):
        return not any(member.does in ("idle", "prompt") for member in living)
    if listening(snapshot.state.looks) & {member.pid for member in living}:
        return False
    return _wait_in_vain(living) or _wait_for_each_other(snapshot, living) or _left_threads(snapshot, living)


def _wait_in_vain(living: Sequence[MemberStatus]) -> bool:
    return all(member.side is not None and member.side.kind in IN_VAIN for member in living)


def _wait_for_each_other(snapshot: Snapshot, living: Sequence[MemberStatus]) -> bool:
    """Several processes, each of which only another one could wake, and none is left that might: all others of the run only wait
    for their children to end."""
    pids, last = {member.pid for member in living}, snapshot.state.looks[-1:]
    rest = [each for each in snapshot.procs.processes if each.pid not in pids and not each.exited and not serves(each)]
    parents = {stack.pid for look in last for stack in look.stacks if (known := activity_of(stack)) and known.kind == "child"}
    over = _over(snapshot)
    return (
        len(living) + len(rest) > 1 and parents.issuperset(each.pid for each in rest) and all(_fed(each, over) for each in living)
    )


def _fed(member: MemberStatus, over: set[tuple[int, int]]) -> bool:
    """Whether only another process can wake it: it waits for one, or it is over and its own threads have something left to
    give."""
    if member.does == "child" or (member.does == "join" and _is_over(member, over)):
        return True
    return member.does in BY_ANOTHER and standing(member) == "fed"


def _left_threads(snapshot: Snapshot, living: Sequence[MemberStatus]) -> bool:
    """The main programs are over, and a thread of each waits for one of the same process: for nobody."""
    over = _over(snapshot)
    return all(
        _is_over(member, over)
        and member.does in ("lock", "queue")
        and member.activity is not None
        and waits_within(member.activity)
        and not is_ending(member.frames)
        for member in living
    )


def _living(snapshot: Snapshot) -> Iterable[MemberStatus]:
    return (member for member in (*snapshot.members, *snapshot.aside, *snapshot.beside) if member.status != "gone")


def _here(snapshot: Snapshot) -> tuple[MemberStatus, ...]:
    """The members that live, without those whose main program is over."""
    over = _over(snapshot)
    living = _living(snapshot)
    return tuple(member for member in living if not _is_over(member, over))


def _is_over(member: MemberStatus, over: set[tuple[int, int]]) -> bool:
    return bool(over & {(member.pid, 0), (member.pid, member.process.start_ticks)})


def _over(snapshot: Snapshot) -> set[tuple[int, int]]:
    """Pid and start ticks of each process whose main program is over."""
    stacks = (stack for look in snapshot.state.looks for stack in look.stacks)
    return {(stack.pid, stack.started_ticks) for stack in stacks if any(is_ending(thread.frames) for thread in stack.threads)}
