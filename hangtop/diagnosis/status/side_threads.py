"""A rank whose main thread stands while another thread of it computes: a monitor, a reader that spins, a helper. Is that life?

Where the peers wait in a collective in their main threads, this one's main thread is what they wait for. What it waits for itself
decides: an answer, a sleep or a file comes from no thread of its own; a lock, an event or a result may.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hangtop.diagnosis.status.member_status import MemberStatus, works_below
from hangtop.records.stack import Thread
from hangtop.stacks.activity import waits_within
from hangtop.stacks.frames import DoingKind
from hangtop.stacks.loops import ASKED, IO_BYTES_S, SPAN_S, WAKES_S, recently

FROM_OUTSIDE: tuple[DoingKind, ...] = ("network", "remote", "pipe", "queue", "sleep", "io")
BY_A_THREAD: tuple[DoingKind, ...] = ("lock", "queue", "join")
MAIN_CPU_PART = 0.001
"""Of its time a main thread that stands runs less than this: a turn of work that comes every other second is a hundred times
more."""
BESIDE = "while another of its threads computes"


def without_side_threads(members: Sequence[MemberStatus], serve: frozenset[int]) -> tuple[MemberStatus, ...]:
    """The members, those that only a side thread keeps busy judged by their main thread. `serve`: pids that listen at a port:
    such a one may answer itself."""
    peers = [member for member in members if member.status == "collective" and member.activity is not None]
    if not peers or not all(_in_main(member) for member in peers):
        return tuple(members)
    return tuple(
        _by_main_thread(member, serves=member.pid in serve) if member.status == "works" and _main_stands(member) else member
        for member in members
    )


def _by_main_thread(member: MemberStatus, *, serves: bool) -> MemberStatus:
    within = member.activity is not None and waits_within(member.activity)
    if member.does in FROM_OUTSIDE and not within and not (serves and member.does in ASKED):
        return replace(member, status="waits", text=f"{member.text}, {BESIDE}", doubted=False)
    return replace(member, doubted=True) if member.does in (*BY_A_THREAD, *ASKED) else member


def _main_stands(member: MemberStatus) -> bool:
    """Whether its main thread was at one place in all looks and did not even wake, no child works, and no bytes move."""
    process, recent = member.process, recently(member.process)
    if member.moved is not False or not _in_main(member) or works_below(process):
        return False
    asleep = recent.seconds >= SPAN_S and recent.switches_s is not None and recent.switches_s < WAKES_S
    idle = recent.main_cpu_part is not None and recent.main_cpu_part < MAIN_CPU_PART  # one that rests between its turns works
    return asleep and idle and max(recent.io_b_s or 0.0, process.subtree_io_b_s or 0.0) <= IO_BYTES_S


def _in_main(member: MemberStatus) -> bool:
    thread: Thread | None = member.activity.thread if member.activity is not None else None
    return thread is not None and not thread.runs and (thread.tid == member.pid or thread.name == "MainThread")
