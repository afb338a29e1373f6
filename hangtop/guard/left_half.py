"""A restart by the command of the policy that a guard which was killed has left half done: what the next one does about it. Pure.

A start is never made beside another one. What the book says of a part is exact but for one moment: a part that was written down
may not have begun. Then facts decide; where they do not, it is told and left.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hangtop.common.text import numbered
from hangtop.guard.episodes import NOT_AGAIN, Course


class Facts(Struct, frozen=True):
    """What is seen of it now. `busy`: a process of hangtop is still at work on this run. `stopped`: that stop was proven.
    `newer`: pid of a start of this log that was not known when this part began; `newer_lives`: whether it is there. `others`:
    pids that write the log, or were started since with that very command. `told`: whether the log of actions tells of the start;
    `None` where that cannot be known."""

    busy: bool = False
    stopped: bool = False
    newer: int | None = None
    newer_lives: bool = False
    others: tuple[int, ...] = ()
    told: bool | None = False


class Step(Struct, frozen=True):
    """`text`: what came of it, where nothing more is done. `went`: whether the run was started again."""

    do: Literal["wait", "start", "leave"]
    text: str = ""
    went: bool = False


def next_step(course: Course, facts: Facts) -> Step:
    """What is to be done about it now."""
    if facts.newer is not None and course.part == "starts":
        return _was_started(facts.newer, lives=facts.newer_lives)
    if facts.newer is not None:
        return Step("leave", f"not started: pid {facts.newer} was started with this log meanwhile")
    if facts.busy:
        return Step("wait")
    if course.part == "stops" and not facts.stopped:
        return Step("leave", NOT_AGAIN)
    if facts.others:
        return Step("leave", f"not started: {numbered('pid', facts.others)} may be this run already")
    if course.part == "starts" and facts.told is not False:
        return Step(
            "leave", "its start was under way when the guard ended, and what came of it is not known: it is not done again"
        )
    return Step("start")


def _was_started(pid: int, *, lives: bool) -> Step:
    if lives:
        return Step("leave", f"pid {pid} was started by the guard before this one, and runs", went=True)
    return Step("leave", f"pid {pid} was started by the guard before this one, and has ended")
