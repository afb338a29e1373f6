"""Members that wait for the handle of a collective (`work.wait()`): compiled code, in which no frame tells of a collective.

A lock of Python is taken by `acquire` or `with`, and what else waits in Python has frames of its own below the line. So a line
that waits, and below which there is nothing, waits in a library; while peers stand in a collective, that is theirs."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.common.late_pattern import late_pattern
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.stacks.frames import own
from hangtop.stacks.loops import Sources
from hangtop.state.run_state import RunState

_WAITS = late_pattern(r"(?<!\bos)\.wait\s*\(")
CALL = "wait"


def with_handles(state: RunState, members: tuple[MemberStatus, ...]) -> tuple[MemberStatus, ...]:
    if not any(member.status == "collective" for member in members):
        return members
    sources = tuple(excerpt for look in state.looks for excerpt in look.excerpts)
    return tuple(
        replace(member, status="collective", call=CALL, text=f"in {CALL}") if _at_handle(member, sources) else member
        for member in members
    )


def _at_handle(member: MemberStatus, sources: Sources) -> bool:
    if member.rank is None or member.status != "waits" or member.does != "lock" or own(member.frames)[:1] != (0,):
        return False
    at = (member.frames[0].file, member.frames[0].line)
    lines = (
        each.lines[each.at - each.first] for each in sources if (each.file, each.at) == at and each.lines and not each.changed
    )
    return any(_WAITS.search(line) for line in lines)
