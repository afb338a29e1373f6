"""Of processes that all stand still: the ones that stand for their own sake, while the others wait for what a process gives them.

Told by what each waits in, never by names: a lock, a sleep or a program of one's own comes from nobody of the run; a queue, a
connection or a collective does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

from hangtop.common.grouped import grouped
from hangtop.diagnosis.status.majority import place_of
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.stacks.activity import waits_within
from hangtop.stacks.frames import DoingKind
from hangtop.stacks.loops import wakes
from hangtop.stacks.process_groups import functions

Standing = Literal["own", "asks", "open", "fed"]
"""`own`: nobody of the run ends it. `asks`: sleeps and looks again. `open`: whether it waits for one of the run is not known.
`fed`: it waits for what another process gives."""

OWN: frozenset[DoingKind] = frozenset({
    "sleep", "join", "child", "io", "build_lock", "compile", "checkpoint", "load", "gpu", "dataloader", "stopped", "user",
})  # fmt: skip
OPEN: frozenset[DoingKind] = frozenset({"network", "pipe", "waits", "remote"})


def standing(member: MemberStatus) -> Standing | None:
    """How it stands; `None` for one that works, is gone, or shows no stack."""
    if member.status in ("loops", "stopped"):
        return "own"
    if member.waits_for_peers:
        return "fed"
    if member.activity is None or member.status not in ("waits", "dataloader") or member.moved is True:
        return "asks" if member.status == "works" and member.does == "sleep" else None
    if member.does == "sleep" and wakes(member.process):
        return "asks"
    if member.does in ("lock", "queue"):
        return "own" if waits_within(member.activity) else "fed"
    if member.does in OPEN:
        return "open"
    return "own" if member.does in OWN else "fed"


def stands_apart(members: Sequence[MemberStatus], beside: Sequence[MemberStatus] = ()) -> tuple[MemberStatus, ...]:
    """The ones that the others wait for; nobody where that is not told.

    `beside`: processes that are no ranks. One of them that waits for what nothing tells is not accused while it may have lost
    what a member should give it, and one that asks only where nobody else may be to blame: it may just look after others.
    """
    lookers = [other for other in beside if standing(other) == "asks"]
    chosen = _apart(members, [other for other in beside if other not in lookers]) if lookers else ()
    return chosen or _apart(members, beside)


def _apart(members: Sequence[MemberStatus], beside: Sequence[MemberStatus]) -> tuple[MemberStatus, ...]:
    everyone = [*members, *beside]
    ways = {id(member): how for member in everyone if (how := standing(member)) is not None}
    if len(ways) < len(everyone) or len(everyone) < 2:
        return ()
    places = Counter(map(_place, everyone))

    def shared(member: MemberStatus) -> bool:
        """A lock that several wait for at one line is one of the run, and one of its processes holds it."""
        return member.does == "lock" and places[_place(member)] > 1

    def crowd(member: MemberStatus) -> bool:
        """A place where half of all stand is one where the program itself leads."""
        return 2 * places[_place(member)] >= max(len(everyone), 3)

    own = [member for member in everyone if ways[id(member)] == "own" and not crowd(member)]
    chosen = [member for member in own if not shared(member)] or own
    if not chosen:
        chosen = _unlike_the_rest(members, beside, ways)
    return tuple(chosen) if len(chosen) < len(everyone) else ()


def _place(member: MemberStatus) -> Hashable:
    """Where it stands, and in what; a process without a stack stands alone."""
    return member.pid if member.activity is None else (place_of(member.activity), member.does)


def _unlike_the_rest(
    members: Sequence[MemberStatus], beside: Sequence[MemberStatus], ways: dict[int, Standing]
) -> list[MemberStatus]:
    """One that waits for what nothing tells while all others are fed: it alone may have left them without."""
    everyone = (*members, *beside)
    for way in ("open", "asks"):
        found = [member for member in everyone if ways[id(member)] == way]
        rest = [member for member in everyone if ways[id(member)] == "fed" and not _serves(member)]
        if len(found) == 1 and len(rest) == len(everyone) - 1:
            return found
    return _hub(everyone, ways) if members else []


def _hub(everyone: Sequence[MemberStatus], ways: dict[int, Standing]) -> list[MemberStatus]:
    """One that stands elsewhere than all others, who stand at one place: they give and it gathers, or it gives and they take.
    That nobody sends anything comes from it sooner than from one of many alike; so it is where all of them look for something."""
    groups = grouped(everyone, _place)
    alone = [group[0] for group in groups.values() if len(group) == 1]
    waits = {ways[id(member)] for member in everyone} in ({"open"}, {"asks"})
    return alone if waits and len(everyone) > 3 and len(groups) == 2 and len(alone) == 1 else []


def _serves(member: MemberStatus) -> bool:
    """An event loop of the program's own may be what others ask."""
    return member.does == "idle" and member.activity is not None and bool(functions(member.activity))
