"""How many collectives each rank has launched, by communicator or process group; ranks that are behind come first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hangtop.common import text
from hangtop.records.nccl import Communicator, FlightDump, FlightGroup, NcclReading
from hangtop.render.spans import Row, cut

MOST_GROUPS = 8
Counts = dict[tuple[int, str], list[int]]
"""Ranks by count and operation."""


def collective_rows(looks: tuple[NcclReading, ...], rank_of: Mapping[int, int], width: int) -> list[Row]:
    """A block for each NCCL communicator of this run, and for each group in the flight recorder's dumps, of the last look only.
    `rank_of`: pid → rank."""
    if not looks:
        return []
    found = [
        (f"communicator {comm.id} · NCCL's counts", counts)
        for comm in looks[-1].communicators
        if (counts := _told(comm, rank_of))
    ]
    found += [(f"group {name} · flight recorder", counts) for name, counts in _recorded(looks[-1].dumps)]
    return [cut(row, width) for title, counts in found[:MOST_GROUPS] for row in _block(title, counts)]


def _told(comm: Communicator, rank_of: Mapping[int, int]) -> Counts:
    """The counts of the communicator's members. Before NCCL 2.28 only members that differ are listed."""
    counts: Counts = {}
    for member in comm.ranks:
        if member.pid is not None and member.pid in rank_of:
            for operation, count in member.counts.items():
                counts.setdefault((count, operation), []).append(rank_of[member.pid])
    return counts


def _recorded(dumps: Iterable[FlightDump]) -> list[tuple[str, Counts]]:
    groups: dict[str, tuple[FlightGroup, Counts]] = {}
    for dump in dumps:
        for group in dump.groups:
            if group.enqueued is not None:
                _, counts = groups.setdefault(group.id, (group, {}))
                counts.setdefault((group.enqueued, group.operation or "collective"), []).append(dump.rank)
    return [(group.name or name, counts) for name, (group, counts) in groups.items()]


def _block(title: str, counts: Counts) -> Iterator[Row]:
    most = {operation: max(count for count, other in counts if other == operation) for _, operation in counts}
    yield (("Collectives", "ink bold"), (f"  {title}", "muted"))
    for (count, operation), ranks in sorted(counts.items()):
        behind = most[operation] - count
        role = "bad" if behind else "ink"
        note = f"   ◂ {behind:,} behind" if behind else ""
        sign = "▸ " if behind else "  "
        yield ((f"{sign}{text.rank_ranges(ranks):<14} {operation:<24} {count:>12,}", role), (note, "muted"))
    yield ()
