"""Stacks that ranks printed into their log before it fell silent (py-spy, faulthandler), and who by them stands apart."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.common.grouped import grouped
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.stack import Stack
from hangtop.records.verdict import Culprit
from hangtop.stacks.activity import Activity, activity_of
from hangtop.stacks.printed_stacks import printed_stacks


def stacks_in_log(snapshot: Snapshot) -> tuple[Stack, ...]:
    """Those in the last lines, each with the rank that printed it."""
    writers = grouped(snapshot.state.tail, key=lambda line: (line.rank, line.file))
    return tuple(
        replace(stack, rank=rank) for (rank, _), lines in writers.items() for stack in printed_stacks(line.text for line in lines)
    )


def printed_apart(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The ranks whose last stack is in no collective while those of most others are."""
    last: dict[int, Activity] = {}
    for stack in stacks_in_log(snapshot):
        if stack.rank is not None and (known := activity_of(stack)) is not None:
            last[stack.rank] = known
    apart = {rank: known for rank, known in sorted(last.items()) if not known.waits_for_peers}
    if 2 * len(apart) >= len(last):
        return ()
    pids = snapshot.pid_of
    return tuple(
        Culprit(rank, pids.get(rank), None, "likely", (f"{known.text} ({known.where}), by the stack that it printed",))
        for rank, known in apart.items()
    )
