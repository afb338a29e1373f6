"""Which rank is behind in its collectives: by NCCL's own counts, and by the flight recorder's sequence numbers.

A difference alone is normal, for a query meets a run in motion; one that stands still over two looks is not (NCCL docs, RAS).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from hangtop.common.memo import memoized
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.nccl import CommRank, Communicator, FlightDump, FlightGroup


class Behind(Struct, frozen=True, omit_defaults=True):
    """A member of a communicator or group that has launched fewer collectives than others, or does not answer.

    `count` of `most` launched. `frozen`: both were the same at the look before; `None` when there was none.
    `rank` counts inside the communicator: match by `pid` where there is one.
    """

    group: str
    rank: int
    operation: str
    count: int | None = None
    most: int | None = None
    pid: int | None = None
    host: str | None = None
    frozen: bool | None = None

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
    """Who does not answer, or has launched less than is usual while nobody is further behind, for whom it may well wait."""
    past = None if then is None else {rank.rank: rank for rank in then.ranks}
    usual, usual_then = _usual(comm), {} if then is None else _usual(then)
    lowest = {
        operation: min((rank.counts.get(operation, most) for rank in comm.ranks), default=most)
        for operation, most in usual.items()
    }
    for rank in comm.ranks:
        same = None if past is None else _is_same(past.get(rank.rank), rank)
        if rank.status in ("missing", "dead"):
            yield Behind(comm.id, rank.rank, rank.status, pid=rank.pid, host=rank.host, frozen=same)
            continue
        for operation, most in usual.items():
            count = rank.counts.get(operation)
            if count is not None and count == lowest[operation] < most:
                frozen = same and usual_then.get(operation) == most
                yield Behind(comm.id, rank.rank, operation, count, most, rank.pid, rank.host, frozen)


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


def _is_same(before: CommRank | None, rank: CommRank) -> bool:
    return before is not None and (before.counts, before.status) == (rank.counts, rank.status)


def behind_in_flight(dumps: Iterable[FlightDump]) -> tuple[Behind, ...]:
    """Ranks that never enqueued the collective of the furthest rank, by process group. One rank alone tells nothing.

    Ranks may enqueue ahead: one whose own last collective nobody has completed waits in it. Where that is not told, only the last
    of all does not wait.
    """
    groups: dict[str, list[tuple[int, FlightGroup]]] = {}
    for dump in dumps:
        for group in dump.groups:
            if group.enqueued is not None:
                groups.setdefault(group.id, []).append((dump.rank, group))
    found: list[Behind] = []
    for name, members in groups.items():
        furthest = max((group for _, group in members), key=lambda group: group.enqueued or 0)
        lowest = min(group.enqueued or 0 for _, group in members)
        completed = max(group.completed or 0 for _, group in members)
        found += [
            Behind(furthest.name or name, rank, furthest.operation or "collective", group.enqueued, furthest.enqueued)
            for rank, group in sorted(members, key=lambda member: member[0])
            if (group.enqueued or 0) < (furthest.enqueued or 0) and not _waits_in_flight(group, lowest, completed)
        ]
    return tuple(found)


def _waits_in_flight(group: FlightGroup, lowest: int, completed: int) -> bool:
    """Whether it may wait in its last collective. `lowest`: that of the rank that is furthest behind; `completed`: by any."""
    last = group.enqueued or 0
    if group.completed is None:
        return last > lowest
    return group.completed < last and completed < last


@memoized
def stragglers(snapshot: Snapshot) -> tuple[tuple[int, Behind], ...]:
    """Members of this run that are behind and stuck, each with its rank in the run.

    NCCL's counts differ in any run in motion, so only what stood still over two looks counts. A pid that two ranks have, each on
    its own machine, names neither. A flight recorder dump counts when it was written after the last output.
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
    since = snapshot.log.last_output_at or 0.0
    dumps = [dump for dump in looks[-1].dumps if dump.at >= since]
    return (*stuck, *((member.rank, member) for member in behind_in_flight(dumps)))


def reasons(snapshot: Snapshot, rank: int | None) -> tuple[str, ...]:
    """What NCCL says of this rank."""
    return tuple(member.text for number, member in stragglers(snapshot) if number == rank)
