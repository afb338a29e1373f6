"""Of processes that run one program, one that nobody asks shows what all of them do while they idle: a thread that looks for work
fifty times a second is no work in that one, and none in its twin that was asked and waits for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec.structs import replace

from hangtop.diagnosis.status.member_status import MemberStatus, stacks_of, works
from hangtop.records.stack import Frame, Stack, Thread
from hangtop.stacks.activity import Activity, activity_of, waits_within
from hangtop.stacks.frames import own
from hangtop.stacks.loops import Looks, by_turns
from hangtop.state.run_state import RunState

MORE_PERCENT = 1.0
"""Of a core: steps in which the kernel counts processor time, over a look of a second."""


def as_twins_idle(state: RunState, members: Sequence[MemberStatus]) -> tuple[MemberStatus, ...]:
    """The members, without what a twin that nobody asks does as well: who only does that waits."""
    return tuple(_without_idling(state, member, members) if _may_idle(member) else member for member in members)


def is_idle_twin(state: RunState, member: MemberStatus, others: Sequence[MemberStatus]) -> bool:
    """Whether all that it does another one of them does, too, that was asked besides: nobody asks this one."""
    return any(_waits_beside(state, other, member) is not None for other in others)


def _may_idle(member: MemberStatus) -> bool:
    """Whether it counts as at work only because a thread of it wakes: no byte moves, and nobody else works for it."""
    if (
        member.status != "works"
        or member.activity is None
        or member.figures
        or member.side is not None
        or member.until is not None
    ):
        return False
    only_wakes = member.doubted or member.moved is True or member.activity.thread.runs
    return only_wakes and not works(member.process) and not by_turns(member.process)


def _without_idling(state: RunState, member: MemberStatus, members: Sequence[MemberStatus]) -> MemberStatus:
    for twin in members:
        if (waits := _waits_beside(state, member, twin)) is not None:
            text = f"{waits.text} ({waits.where})"
            return replace(member, status="waits", activity=waits, call=waits.called, text=text, moved=False, doubted=False)
    return member


def _waits_beside(state: RunState, member: MemberStatus, twin: MemberStatus) -> Activity | None:
    """What its other threads wait for, which the twin has none of, if all else stands where the threads of the twin stand and
    takes no more time."""
    more = (member.process.cpu_percent or 0.0) - (twin.process.cpu_percent or 0.0)
    idles = twin.status in ("waits", "works") and not works(twin.process)  # it may be caught awake, too
    if twin is member or not idles or twin.process.name != member.process.name or more > MORE_PERCENT:
        return None
    idle = {place for thread in _threads(stacks_of(twin.process, state.looks)) for place in (_place(thread), _functions(thread))}
    looks = stacks_of(member.process, state.looks)
    known = [thread for thread in _threads(looks) if (_functions(thread) if thread.runs else _place(thread)) in idle]
    others = [thread for thread in _threads(looks) if thread not in known]
    waits = [seen for thread in others if (seen := activity_of(Stack(member.pid, 0.0, (thread,)))) is not None]
    alike = len(looks) > 1 and bool(known) and bool(waits) and len({_place(thread) for thread in others}) == 1
    return waits[0] if alike and all(map(waits_within, waits)) else None


def _threads(looks: Looks) -> list[Thread]:
    return [thread for _, stack in looks for thread in stack.threads if thread.frames]


def _place(thread: Thread) -> Hashable:
    """The lines of the program's own code in which a thread stands; of a library's thread those of the library."""
    return tuple((frame.function, frame.file, frame.line) for frame in _own(thread))


def _functions(thread: Thread) -> Hashable:
    """Without the lines: one that was caught awake stands at any of them."""
    return tuple((frame.function, frame.file) for frame in _own(thread))


def _own(thread: Thread) -> Sequence[Frame]:
    places = own(thread.frames)
    return [thread.frames[place] for place in places] or thread.frames
