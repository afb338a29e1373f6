"""Processes beside the numbered ranks that may trade with them: a parameter server, a learner, the parent that feeds its workers.

Nothing numbers them, so they are no ranks, and many a process beside ranks only looks after them. What each does says whether it
takes part: it stands in the program's own functions, and does not watch its children.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hangtop.diagnosis.members.rank_numbering import serves
from hangtop.diagnosis.status.by_waits import current_watch
from hangtop.diagnosis.status.member_status import MemberStatus, stacks_of, status_of, works_itself
from hangtop.records.process import Process
from hangtop.records.stack import Stack
from hangtop.stacks.loops import loop_around, wakes
from hangtop.stacks.process_groups import awaits_children, functions, joins_children, works_in_threads
from hangtop.state.run_state import RunState

BESIDE = ("other", "launcher")
WORTHLESS = ("idle", "sleep")
"""What a process that keeps others company does all day; it is no sign of life."""


def candidates(state: RunState, members: Sequence[MemberStatus]) -> tuple[Process, ...]:
    """Parents of the members, and other children of these parents. What a member started is part of the member."""
    if state.procs is None or not members:
        return ()
    known = {process.pid: process for process in state.procs.processes}
    taken = {member.pid for member in members}
    above = _above(members, known)
    found = (process for process in known.values() if process.pid not in taken and process.role in BESIDE and not process.exited)
    return tuple(each for each in found if not serves(each) and (each.pid in above or (each.ppid in above and each.rank is None)))


def _above(members: Sequence[MemberStatus], known: dict[int, Process]) -> set[int]:
    """The parents of the members; a shell in between is skipped. Stale lines of the table can form a ring."""
    found = set()
    for member in members:
        parent, passed = known.get(member.process.ppid), set[int]()
        while parent is not None and serves(parent) and parent.pid not in passed:
            passed.add(parent.pid)
            parent = known.get(parent.ppid)
        if parent is not None:
            found.add(parent.pid)
    return found


def beside(state: RunState, members: Sequence[MemberStatus], *, patient: bool) -> tuple[MemberStatus, ...]:
    """The status of each candidate that takes part, by its stack. One that only keeps others company is left out."""
    if not members or state.procs is None:
        return ()
    parents = {member.process.ppid for member in members}
    state = _by_threads(state)
    asked = candidates(state, members)
    found = (status_of(state, process, patient=patient) for process in asked)
    part = (member for member in found if _takes_part(state, member, watched=member.pid in parents))
    told = {*parents, *(process.ppid for process in asked)}
    return tuple(member if _is_joined(state, member) else _own_work(member, leads=member.pid in told) for member in part)


def _is_joined(state: RunState, member: MemberStatus) -> bool:
    """Whether the process that started it waits for its end alone: then it keeps nobody company."""
    watch = current_watch(state)
    parent = watch.processes.get(member.process.ppid) if watch is not None else None
    ends = parent.threads[0].ends if parent is not None and parent.threads else ()
    return any(end.object.kind == "child" and end.pids == (member.pid,) for end in ends)


def _by_threads(state: RunState) -> RunState:
    """The state, with the other threads alone of a process that joins its children and does its own part in a thread."""
    if not any(joins_children(stack) and works_in_threads(stack) for look in state.looks for stack in look.stacks):
        return state
    looks = (replace(look, stacks=tuple(map(_without_join, look.stacks))) for look in state.looks)
    return replace(state, looks=tuple(looks))


def _without_join(stack: Stack) -> Stack:
    if not joins_children(stack) or not works_in_threads(stack):
        return stack
    return replace(stack, threads=tuple(thread for thread in stack.threads if thread is not stack.main))


def _own_work(member: MemberStatus, *, leads: bool) -> MemberStatus:
    """Without the work of its children where these are members themselves, or beside them (`leads`). What a helper of its own
    does is its work, unless it only rests beside it."""
    idles = (leads and not works_itself(member.process)) or member.does in WORTHLESS
    return replace(member, status="waits") if member.status == "works" and idles else member


def _takes_part(state: RunState, member: MemberStatus, *, watched: bool) -> bool:
    if member.activity is None or not functions(member.activity):
        return member.status == "stopped" and not watched  # a stopped process shows no stack
    if _keeps_company(state, member):
        return False
    if not watched or state.procs is None:
        return True
    stacks = stacks_of(member.process, state.looks)
    below = {process.pid for process in state.procs.processes if process.ppid == member.pid}
    children: list[Stack] = [stack for look in state.looks[-1:] for stack in look.stacks if stack.pid in below]
    return bool(stacks) and not awaits_children(stacks[-1][1], children)


def _keeps_company(state: RunState, member: MemberStatus) -> bool:
    """Whether it sleeps again and again, as a launcher or a monitor does: it was seen to wake and nobody waits for its end, or a
    `while` is around its sleep that looks for nothing but processes, or its source is not known. What looks for something else
    may be what others wait for."""
    if member.does != "sleep" or member.activity is None:
        return False
    sources = [excerpt for look in state.looks for excerpt in look.excerpts]
    loop = loop_around(member.activity, sources)
    if loop in ("asks", "waits"):
        return False
    return loop not in ("ends", "none") or (wakes(member.process) and not _is_joined(state, member))
