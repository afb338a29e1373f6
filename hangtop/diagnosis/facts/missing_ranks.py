"""Ranks that must have run on a machine that is seen, and have no process there, by the numbers of the others there. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hangtop.common.grouped import grouped
from hangtop.diagnosis.facts.unseen_nodes import unseen_nodes
from hangtop.diagnosis.members.rank_numbering import missing_here
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.nodes import node_of


def missing_ranks_of(snapshot: Snapshot, members: Iterable[MemberStatus], world: int | None) -> tuple[int, ...]:
    """The ranks of this machine and of the other nodes that are missing among these members. None while a named node cannot be
    seen: a rank may be there, whose numbers a launcher may have dealt out one by one (`srun --distribution=cyclic`)."""
    if unseen_nodes(snapshot):
        return ()
    by_node = grouped((member for member in members if member.rank is not None), lambda member: node_of(member.pid))
    numbers = [{member.rank for member in there if member.rank is not None} for there in by_node.values()]
    gone = {rank for here in numbers for rank in missing_here(here, world)}
    return tuple(sorted(gone.difference(*numbers)))
