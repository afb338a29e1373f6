"""Which rank is behind in its collectives: by NCCL's own counts, and by the flight recorder's sequence numbers.

A difference alone is normal, for a query meets a run in motion; one that stands still over two looks is not (NCCL docs, RAS).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from hangtop.common.grouped import grouped
from hangtop.common.memo import memoized
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.nccl import Communicator, FlightDump, FlightGroup


class Behind(Struct, frozen=True):
    """A member of a communicator or group that has launched fewer collectives than others, or does not answer.

    `count` of `most` launched. `frozen`: both were the same at the look before; `None` when there was none.
    `since`: when the furthest called the one that it has not launched, if that is told. `rank` counts inside
    the communicator: match by `pid` where there is one.
    """

    rank: int
    operation: str
    count: int | None = None
    most: int | None = None
    pid: int | None = None
    frozen: bool | None = None
    since: float | None = None

    @property
    def text(self) -> str:
        """`launched 41,207 of 41,208 all_reduce`."""
        if self.count is None or self.most is None:
            return f"does not answer NCCL ({self.operation})"
        return f"launched {self.count:,} of {self.most:,} {self.operation}"


def behind(communicators: Iterable[Communicator], before: Iterable[Communicator] = ()) -> tuple[Behind, ...]:
    """Members that are behind in any operation, or do not answer, in all communicators."""
    then = {communicator.id: communicator for communicator in before}
    return tuple(member for comm in communicators for member in _behind(comm, then.get(comm.id)))


def _behind(comm: Communicator, then: Communicator | None) -> Iterator[Behind]:
    """Members that do not answer, or that launched less than usual while nobody is further behind. A member further behind may
    be what the others wait for."""
    past = {} if then is None else {rank.rank: (rank.counts, rank.status) for rank in then.ranks}
    usual, usual_then = _usual(comm), {} if then is None else _usual(then)
    told = {operation: (most, *(rank.counts.get(operation, most) for rank in comm.ranks)) for operation, most in usual.items()}
    lowest = {operation: min(counts) for operation, counts in told.items()}
    for rank in comm.ranks:
        same = None if then is None else past.get(rank.rank) == (rank.counts, rank.status)
        if rank.status in ("missing", "dead"):
            yield Behind(rank.rank, rank.status, pid=rank.pid, frozen=same)
            continue
        for operation, most in usual.items():
            count = rank.counts.get(operation)
            if count is not None and count == lowest[operation] < most:
                yield Behind(rank.rank, operation, count, most, rank.pid, same and usual_then.get(operation) == most)


def _usual(comm: Communicator) -> Mapping[str, int]:
    """What a member should have launched by now: as most of those that have launched most, all operations together.

    Who called another operation than its peers has launched as many as they: it alone is short of theirs, not they of its own.
    Nothing where these are split in halves. Where not all members are told, the most of each operation.
    """
    if comm.size is None or len(comm.ranks) != comm.size or not all(rank.counts for rank in comm.ranks):
        return comm.most
    total = max(sum(rank.counts.values()) for rank in comm.ranks)
    leading = [tuple(sorted(rank.counts.items())) for rank in comm.ranks if sum(rank.counts.values()) == total]
    counts, members = Counter(leading).most_common(1)[0]
    return dict(counts) if 2 * members > len(leading) else {}


def behind_in_flight(dumps: Iterable[FlightDump]) -> tuple[Behind, ...]:
    """Ranks that never enqueued the collective of the furthest rank, by process group. One rank alone tells nothing.

    Each backend of a group counts its own collectives. Ranks may enqueue ahead: one whose own last
    collective nobody has completed waits in it. Where that is not told, only the last of all does not wait.
    """
    told = ((dump.rank, group) for dump in dumps for group in dump.groups if group.enqueued is not None)
    members = list(told)
    backends = grouped({(group.id, group.backend) for _, group in members if group.backend}, lambda known: known[0])

    def counted(member: tuple[int, FlightGroup]) -> tuple[str, str]:
        group = member[1]
        only = backends.get(group.id, ())
        return group.id, only[0][1] if not group.backend and len(only) == 1 else group.backend

    groups = grouped(members, counted)
    return tuple(member for group in groups.values() for member in _behind_in_group(group))


def _behind_in_group(members: Sequence[tuple[int, FlightGroup]]) -> Iterator[Behind]:
    furthest = max((group for _, group in members), key=lambda group: group.enqueued or 0)
    lowest = min(group.enqueued or 0 for _, group in members)
    completed = max(group.completed or 0 for _, group in members)
    for rank, group in sorted(members, key=lambda member: member[0]):
        last = group.enqueued or 0
        in_it = last > lowest if group.completed is None else group.completed < last and completed < last
        if last < (furthest.enqueued or 0) and not in_it:
            yield Behind(rank, furthest.operation or "collective", group.enqueued, furthest.enqueued, since=furthest.called_at)


@memoized
def stragglers(snapshot: Snapshot) -> tuple[tuple[int, Behind], ...]:
    """Members of this run that are behind and stuck, each with its rank in the run.

    NCCL's counts differ in any run in motion, so only what stood still over two looks counts. A pid that two ranks have, each on
    its own machine, names neither. A flight recorder dump counts when it was written after the last output. One that the ranks
    were asked for is of a run that may go on: there others must have waited for as long as silence may last.
    """
    looks = snapshot.state.nccl
    if not looks:
        return ()
    shared = Counter(rank.pid for rank in snapshot.ranks)
    rank_of = {rank.pid: rank.rank for rank in snapshot.ranks if rank.pid is not None and shared[rank.pid] == 1}
    before = looks[-2].communicators if len(looks) > 1 else ()
    stuck = [
        (rank_of[member.pid], member)
        for member in behind(looks[-1].communicators, before)
        if member.frozen and member.pid in rank_of
    ]
    since = snapshot.log.moved_at or 0.0
    dumps = [dump for dump in looks[-1].dumps if dump.at >= since]
    asked = {dump.rank for dump in dumps if dump.asked}  # what a rank says itself is newer than its file
    dumps = [dump for dump in dumps if dump.asked or dump.rank not in asked]
    late = (
        member
        for member in behind_in_flight(dumps)
        if not asked or (member.since is not None and snapshot.now - member.since > snapshot.quiet_s)
    )
    return (*stuck, *((member.rank, member) for member in late))


def reasons(snapshot: Snapshot, rank: int | None) -> tuple[str, ...]:
    """What NCCL says of this rank."""
    return tuple(member.text for number, member in stragglers(snapshot) if number == rank)
