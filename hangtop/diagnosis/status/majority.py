"""The majority waits at one and the same place, and the few members that stand elsewhere are what it waits for.

For runs whose collectives have names that nobody knows. The idea is STAT's and ByteRobust's: fold the call paths of all ranks
into classes; the dominant class is healthy, the rest is where to look. Told by difference only, whatever a function is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from pathlib import PurePath

from msgspec.structs import replace

from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.stack import Frame
from hangtop.stacks.activity import NAMELESS, Activity
from hangtop.stacks.frames import own, owner
from hangtop.stacks.loops import recently
from hangtop.stacks.process_groups import FOR_OTHERS, functions

POLLS_S = 1.0
"""One that sleeps and wakes this often, times a second, asks for something again and again."""
AT_LEAST = 2


def with_majority(members: tuple[MemberStatus, ...], world: int = 0) -> tuple[MemberStatus, ...]:
    """The members, with the majority as waiting in a collective.

    Nothing changes where a known collective explains the wait, where no place has a majority, and where all members stand at
    one place and nobody of the `world` is missing: then they may wait for anything.
    """
    here = [member for member in members if member.status != "gone"]
    if any(member.waits_for_peers or member.activity is None for member in here):
        return members
    is_short = world > len(here)
    chosen = _like(here, _most(here, place_of))
    if len(chosen) == len(here) and not is_short:
        chosen = _like(here, _most(here, _lines))
    if len(chosen) == len(here) and not is_short:
        return members
    return tuple(as_waiting(member) if member in chosen else member for member in members)


def _most(members: Sequence[MemberStatus], key: Callable[[Activity], Hashable]) -> list[MemberStatus]:
    """The largest class of waiting members: at least half of all, and larger than any other class."""
    keys = [key(member.activity) if member.activity is not None and waits_for_others(member) else None for member in members]
    sizes = Counter(place for place in keys if place is not None).most_common(2)
    if not sizes or sizes[0][1] < AT_LEAST or 2 * sizes[0][1] < len(members) or (len(sizes) > 1 and sizes[1][1] == sizes[0][1]):
        return []
    return [member for member, place in zip(members, keys, strict=True) if place == sizes[0][0]]


def _like(members: Sequence[MemberStatus], chosen: Sequence[MemberStatus]) -> list[MemberStatus]:
    """The chosen, and members that wait in the same call a line away, as a root that gathers does, unless that leaves nobody."""
    calls = {leaf_call(member) for member in chosen}
    alike = [member for member in members if member in chosen or (waits_for_others(member) and leaf_call(member) in calls)]
    return alike if len(alike) < len(members) else list(chosen)


def waits_for_others(member: MemberStatus) -> bool:
    """Whether it stands still in a wait that a peer may end, whatever it is called."""
    if member.activity is None or member.moved is not False:
        return False
    asks = member.status == "works" and member.doubted and member.does == "sleep"  # it may ask its peers, with a limit
    if member.status != "waits" and not asks:
        return False
    if member.does == "idle" and not functions(member.activity):
        return False  # a server of a library that nobody asks; an event loop that the program runs itself is a wait like others
    polls = member.does == "sleep" and (recently(member.process).switches_s or 0.0) >= POLLS_S
    return member.does in FOR_OTHERS or polls


def place_of(known: Activity) -> Hashable:
    """The way through the user's own functions to where it stands."""
    return functions(known) or _lines(known)


def _lines(known: Activity) -> Hashable:
    """Its lines, and what the innermost of them called: of those that take from one queue one holds its lock, and the others wait
    for that lock, in the same call."""
    frames, places = known.thread.frames, own(known.thread.frames)
    called = frames[max(0, places[0] - 1)] if places else frames[0]
    lines = tuple((frames[place].function, frames[place].file, frames[place].line) for place in places)
    return lines, known.kind, called.function, called.file


def leaf_call(member: MemberStatus) -> Hashable:
    """What it stands in at last, in whatever library; `None` where no stack tells."""
    return (member.does, member.frames[0].function, member.frames[0].file) if member.frames else None


def as_waiting(member: MemberStatus, elsewhere: Collection[str] = ()) -> MemberStatus:
    """In the words of a collective, by the name of what the user's innermost frame called in a library, or its own.

    `elsewhere`: functions in which members wait at other places too, whose names tell little.
    """
    frames = member.frames
    inner = next(iter(own(frames)), len(frames))
    called = [frame for frame in frames[max(0, inner - 1) : inner] if owner(frame.file) in ("plumbing", "framework", "package")]
    named = [_named(frame) for frame in (*called, *frames[inner:]) if frame.name not in NAMELESS]
    name = next((name for name in named if name not in elsewhere), next(iter(named), "one call"))
    return replace(member, status="collective", call=name, text=f"in {name}")


def _named(frame: Frame) -> str:
    """`exchange`; of a script without a function the place, `train.py:14`."""
    return f"{PurePath(frame.file).name}:{frame.line}" if frame.name == "<module>" else frame.name
