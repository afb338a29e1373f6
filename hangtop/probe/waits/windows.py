"""From counters at several moments to what moved in how many windows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from hangtop.probe.waits.samples import Moment, Sample
from hangtop.records.waiting import BlockedCall, TcpSocket
from hangtop.records.watched_waits import SMALLEST_FULL_BYTES, SocketMoves, ThreadMoves, UnixMoves

BUSY_PART = 0.1
"""Of a core, as `CPU_PERCENT` of `diagnosis/status/member_status.py`."""


def samples_of(moments: Sequence[Moment], pid: int) -> list[tuple[float, Sample]]:
    """Of one process: those before its pid belonged to another are left out."""
    found = [(moment.at, moment.processes[pid]) for moment in moments if pid in moment.processes]
    return [each for each in found if each[1].start_ticks == found[-1][1].start_ticks]


def busy_in(samples: Sequence[tuple[float, Sample]], ticks_per_s: int, polled_s: float = 0.0) -> int:
    """`polled_s`: of all these windows together, processor time that is no work."""
    polled_part = polled_s / (samples[-1][0] - samples[0][0]) if len(samples) > 1 else 0.0
    return sum(
        max((after.cpu_ticks - before.cpu_ticks) / ticks_per_s - polled_part * (end - start), _main_s(before, after) or 0.0)
        > BUSY_PART * (end - start)
        for (start, before), (end, after) in pairwise(samples)
    )


def main_s(samples: Sequence[tuple[float, Sample]]) -> float | None:
    return _main_s(samples[0][1], samples[-1][1])


def _main_s(before: Sample, after: Sample) -> float | None:
    return None if before.main_ns is None or after.main_ns is None else (after.main_ns - before.main_ns) / 1e9


def changed_in(samples: Sequence[tuple[float, Sample]]) -> int:
    """Windows after which its first thread was in another call than before."""
    return sum(_place(before.call) != _place(after.call) for (_, before), (_, after) in pairwise(samples))


def _place(call: BlockedCall | None) -> tuple[object, ...] | None:
    return None if call is None else (call.state in "SD", call.name, call.files, call.address, call.child, call.path)


def woken_in(samples: Sequence[tuple[float, Sample]]) -> int:
    """Windows in which its first thread was woken, and sleeps in the same call: what it waits for gave it something. A thread of
    which the call is not told may have been in many."""
    return sum(
        _place(before.call) == _place(after.call) is not None
        and before.wakes is not None
        and after.wakes is not None
        and after.wakes > before.wakes
        for (_, before), (_, after) in pairwise(samples)
    )


def thread_moves(samples: Sequence[tuple[float, Sample]]) -> tuple[ThreadMoves, ...]:
    """Of the threads that moved."""
    found = []
    for tid in dict.fromkeys(tid for _, sample in samples for tid in sample.bytes):
        counts = [sample.bytes[tid] for _, sample in samples if tid in sample.bytes]
        if moved := _rises(counts):
            found.append(ThreadMoves(tid, moved, counts[-1] - counts[0]))
    return tuple(found)


def socket_moves(before: Moment | None, moments: Sequence[Moment], inodes: Iterable[int]) -> tuple[SocketMoves, ...]:
    """Of these sockets, if they were there to the end. `before`: the end of an earlier watch."""
    found = []
    for inode in inodes:
        seen = [moment.sockets[inode] for moment in moments if inode in moment.sockets]
        far = [moment.far[inode] for moment in moments if inode in moment.far]
        earlier = before.sockets.get(inode) if before is not None else None
        if seen:
            same = earlier is not None and (earlier.local, earlier.remote) == (seen[0].local, seen[0].remote)
            there = before.far.get(inode) if before is not None and same else None
            longer = [earlier, *seen] if earlier is not None and same else seen
            found.append(_moves(seen, longer, [there, *far] if there is not None else far))
    return tuple(found)


def unix_moves(moments: Sequence[Moment], inodes: Iterable[int]) -> tuple[UnixMoves, ...]:
    """Of these sockets, as far as their other ends are told."""
    found = []
    for inode in inodes:
        own = moments[-1].unix.get(inode)
        far = [moment.unix[own.peer] for moment in moments if own is not None and own.peer in moment.unix and own.peer]
        if own is not None and far:
            left = [row.unread_bytes or 0 for row in far]
            taken = sum(0 < after < before for before, after in pairwise(left))
            found.append(UnixMoves(inode, own.name or far[-1].name, taken, left[-1]))
    return tuple(found)


def _moves(seen: list[TcpSocket], longer: list[TcpSocket], far: list[TcpSocket]) -> SocketMoves:
    """Bytes of the watch alone; windows also of the time before."""
    came = (seen[-1].received_bytes or 0) - (seen[0].received_bytes or 0)
    segments = (seen[-1].segments_in or 0) - (seen[0].segments_in or 0)
    return SocketMoves(
        seen[-1],
        came,
        (seen[-1].acked_bytes or 0) - (seen[0].acked_bytes or 0),
        _rises([row.received_bytes or 0 for row in longer]),
        _rises([row.acked_bytes or 0 for row in longer]),
        sum(_took(before, after) for before, after in pairwise(longer)),
        full=segments > 0 and came > SMALLEST_FULL_BYTES * segments,
        always_unsent=all((row.unacked_bytes or 0) > 0 for row in longer),
        far_taken_in=sum(_took(before, after) for before, after in pairwise(far)),
        queued=bool(seen[-1].unacked_bytes or (far and far[-1].unread_bytes)),
    )


def _took(before: TcpSocket, after: TcpSocket) -> bool:
    came = (after.received_bytes or 0) - (before.received_bytes or 0)
    return 0 < (after.unread_bytes or 0) < (before.unread_bytes or 0) + came


def _rises(counts: Sequence[int]) -> int:
    return sum(after > before for before, after in pairwise(counts))
