"""Lines keep coming that a clock could print. Who prints them? A main thread that wakes up between them may, and is at work then.

A thread that only says that its process lives goes on whatever the main thread does, and leaves it asleep.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.stacks.loops import recently

LEAST_S, MOST_S = 4.0, 15.0
WINDOW_S = 5.0
"""For how long at least a process is looked back at, whatever the limit is (`rates.SHORTEST_S`)."""
LATE_S = 1.0
WAKES_A_BEAT = 3.0


def watch_s(beat_s: float, stall_s: float) -> float:
    """How long a main thread must not have woken until it is known that it prints no beats. `beat_s`: the pause between these."""
    return max(LEAST_S, min(beat_s + LATE_S, max(WINDOW_S, stall_s / 2), MOST_S))


def without_writers(
    members: tuple[MemberStatus, ...], beat_s: float, stall_s: float, *, strictly: bool, spared: Collection[int] = ()
) -> tuple[MemberStatus, ...]:
    """The members, those that may print the beats as ones that may work. `strictly`: whoever wakes at all may; else only one that
    wakes about as often as the beats come, for many a hung one asks for its peers ten times a second. `spared`: pids that are
    known to do nothing but that."""
    least_s = watch_s(beat_s, stall_s)
    covers = 0 < beat_s <= least_s - LATE_S

    def may_write(member: MemberStatus) -> bool:
        if member.pid in spared:
            return False
        recent = recently(member.process)
        if strictly and (recent.seconds < least_s or recent.switches_s is None or (member.does == "sleep" and not covers)):
            return True
        return (recent.switches_s or 0.0) > 0 and (strictly or (recent.switches_s or 0.0) * beat_s <= WAKES_A_BEAT)

    return tuple(
        replace(member, status="works", doubted=True) if member.status == "waits" and may_write(member) else member
        for member in members
    )
