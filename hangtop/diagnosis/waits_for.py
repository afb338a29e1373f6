"""Who waits for whom, as far as it is known: a rank for the ranks that never came, a process for the one at the other end of its
pipe, connection or lock. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hangtop.diagnosis.facts.other_side import short_command
from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import current_watch, ends_of
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.nodes import pid_text, pid_there
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import OtherEnd


class WaitsFor(Struct, frozen=True, rename={"what": "for"}):
    """`who`: a member, as `rank 3` or `pid 812`. `what`: a rank, a process with its command, a lock, or the address of
    a server elsewhere. `alive`: whether that process lives; `None` unknown."""

    who: str
    what: str
    alive: bool | None


def waits_for(snapshot: Snapshot, verdict: Verdict) -> tuple[WaitsFor, ...]:
    """One entry for each member and each thing that it waits for, in the order of the members."""
    watch = current_watch(snapshot.state, snapshot.pause_s)
    found = [edge for member in snapshot.members for edge in _of_member(snapshot, member, watch, verdict)]
    return tuple(dict.fromkeys(found))


def _of_member(snapshot: Snapshot, member: MemberStatus, watch: Watch | None, verdict: Verdict) -> Iterator[WaitsFor]:
    if member.waits_for_peers:
        yield from _for_peers(snapshot, member, verdict)
    elif member.status in ("waits", "dataloader", "unknown") and watch is not None:
        if member.side is not None and member.side.pid is not None:
            first = member.side.path[0] if member.side.path else member.side.pid
            yield WaitsFor(member.name, _process(snapshot, watch, first), _lives(watch, first))
        for end in ends_of(watch, member):
            yield from _at(member, end, snapshot, watch, told=member.side is not None and member.side.pid is not None)


def _for_peers(snapshot: Snapshot, member: MemberStatus, verdict: Verdict) -> Iterator[WaitsFor]:
    """A rank in a collective or a rendezvous waits for those that the verdict names."""
    states = {other.rank: other.status for other in snapshot.members}
    for culprit in verdict.culprits:
        if culprit.rank is not None and culprit.rank != member.rank:
            status = states.get(culprit.rank)
            yield WaitsFor(member.name, culprit.name, None if status is None else status != "gone")


def _at(member: MemberStatus, end: OtherEnd, snapshot: Snapshot, watch: Watch, *, told: bool) -> Iterator[WaitsFor]:
    """The thing itself: the lock of a file, a FIFO without its other end, a server on another machine; else its processes."""
    thing = end.object
    if thing.kind == "file lock":
        lives = any(_lives(watch, pid) for pid in end.pids) if end.pids else None
        yield WaitsFor(member.name, f"lock {thing.path}" if thing.path else "lock of a file", lives)
    elif thing.kind == "fifo" and end.known and not end.pids:
        yield WaitsFor(member.name, f"fifo {thing.path}", False)
    elif thing.kind == "tcp" and (end.elsewhere or not end.pids) and thing.remote:
        yield WaitsFor(member.name, thing.remote, None)
    if not told and len(end.pids) == 1:
        yield WaitsFor(member.name, _process(snapshot, watch, end.pids[0]), _lives(watch, end.pids[0]))


def _lives(watch: Watch, pid: int) -> bool | None:
    process = watch.processes.get(pid)
    return None if process is None else process.state not in "ZX"


def _process(snapshot: Snapshot, watch: Watch, pid: int) -> str:
    """`rank 1` of a member with a number, else `pid 812 python server.py`."""
    member = next((member for member in snapshot.members if member.pid == pid and member.rank is not None), None)
    if member is not None:
        return member.name
    process = watch.processes.get(pid)
    if process is None:
        return pid_text(pid)
    return f"pid {pid_there(pid)}{f' on {process.host}' if process.host else ''} {short_command(process)}"
