"""Of members that all stand at their connections to one process, which waits for all of them: the one whose message is
missing."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.facts.turns import sent_less
from hangtop.diagnosis.status.by_waits import current_watch
from hangtop.diagnosis.status.majority import as_waiting
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.state.run_state import RunState


def with_owed_message(state: RunState, members: tuple[MemberStatus, ...]) -> tuple[MemberStatus, ...]:
    """The members, all others as waiting for that one. Nothing changes where one works, or more than one stands elsewhere."""
    watch, hub = current_watch(state), _hub(members)
    process = watch.processes.get(hub) if watch is not None and hub is not None else None
    owes = sent_less(process) if process is not None else None
    if owes is None or not any(member.pid == owes for member in members):
        return members
    return tuple(
        replace(member, status="waits", side=None, text=_owing(member))
        if member.pid == owes
        else member
        if member.waits_for_peers
        else as_waiting(member)
        for member in members
    )


def _hub(members: tuple[MemberStatus, ...]) -> int | None:
    """The one member that does not wait as all others do, else the process that started them all, where all stand still."""
    if not members or any(member.activity is None or member.status not in ("waits", "collective") for member in members):
        return None
    apart, parents = [member for member in members if member.status == "waits"], {member.process.ppid for member in members}
    if len(apart) == 1:
        return apart[0].pid
    stand = len(parents) == 1 and all(member.moved is False for member in members)
    return next(iter(parents)) if stand and len(apart) in (0, len(members)) else None


def _owing(member: MemberStatus) -> str:
    does = member.activity.text if member.activity is not None else member.text
    return f"{does}, and has sent one message less than all others"
