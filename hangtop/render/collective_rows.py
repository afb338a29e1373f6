"""How many collectives each rank has launched, by communicator or process group; ranks that are behind come first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hangtop.common import text
from hangtop.records.nccl import NcclReading
from hangtop.render.spans import Row, cut
from hangtop.translations import say

MOST_GROUPS = 8
Counts = dict[tuple[int, str], list[int]]
"""Ranks by count and operation."""


def collective_rows(looks: tuple[NcclReading, ...], rank_of: Mapping[int, int], width: int) -> list[Row]:
    """A block for each NCCL communicator of this run, and for each group in the flight recorder's dumps, of the last look only.
    `rank_of`: pid → rank."""
    blocks: dict[tuple[str, str], tuple[str, Counts]] = {}
    for kind, name, title, operation, count, rank in _counted(looks[-1], rank_of) if looks else ():
        _, counts = blocks.setdefault((kind, name), (f"{title} · {kind}", {}))
        counts.setdefault((count, operation), []).append(rank)
    return [cut(row, width) for title, counts in list(blocks.values())[:MOST_GROUPS] for row in _block(title, counts)]


def _counted(look: NcclReading, rank_of: Mapping[int, int]) -> Iterator[tuple[str, str, str, str, int, int]]:
    """(source, id, title, operation, count, rank). Before NCCL 2.28 only members of a communicator that differ are listed."""
    for comm in look.communicators:
        for member in comm.ranks:
            if member.pid is not None and member.pid in rank_of:
                for operation, count in member.counts.items():
                    yield say("NCCL's counts"), comm.id, say(f"communicator {comm.id}"), operation, count, rank_of[member.pid]
    for dump in look.dumps:
        for group in dump.groups:
            if group.enqueued is not None:
                title, operation = say(f"group {group.name or group.id}"), group.operation or "collective"
                yield say("flight recorder"), group.id, title, operation, group.enqueued, dump.rank


def _block(title: str, counts: Counts) -> Iterator[Row]:
    most = {operation: max(count for count, other in counts if other == operation) for _, operation in counts}
    yield ((say("Collectives"), "ink bold"), (f"  {title}", "muted"))
    for (count, operation), ranks in sorted(counts.items()):
        behind = most[operation] - count
        role = "bad" if behind else "ink"
        note = say(f"   ◂ {behind:,} behind" if behind else "")
        sign = "▸ " if behind else "  "
        yield ((f"{sign}{text.rank_ranges(ranks):<14} {operation:<24} {count:>12,}", role), (note, "muted"))
    yield ()
