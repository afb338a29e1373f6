"""Collectives as NCCL itself writes them into the log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=COLL): whose last call differs."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from hangtop.common.grouped import grouped
from hangtop.common.memo import memoized
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine
from hangtop.records.verdict import Culprit

_CALL = re.compile(
    r"NCCL INFO (?P<operation>[A-Z]\w{2,20}): opCount (?P<number>[0-9a-f]{1,16}) .{0,120}?count (?P<count>\d{1,18}) "
    r"datatype (?P<type>\d{1,3}) .{0,60}?\[nranks=(?P<ranks>\d{1,6})\]"
)
"""src/enqueue.cc: `AllReduce: opCount 2fa sendbuff … count 64 datatype 7 op 0 root 0 comm 0x… [nranks=4] stream 0x…`."""
_WRITER = re.compile(r"(?P<host>[\w.-]{1,120}):(?P<pid>\d{1,10}):\d{1,10} \[(?P<device>\d{1,3})\] ?$")
LEAST = 3
"""Of two nothing tells which is the usual one."""


class Call(Struct, frozen=True):
    """The last collective of one process. `text`: `Broadcast of 64`."""

    rank: int | None
    host: str
    pid: int
    device: int
    number: int
    operation: str
    count: int
    ranks: int

    @property
    def text(self) -> str:
        return f"{self.operation} of {self.count:,}"


class OddCall(Struct, frozen=True):
    """The calls that differ from what most called as the same number of their communicator. `usual`: that; `operation`: its
    operation."""

    odd: tuple[Call, ...]
    usual: str
    number: int
    operation: str

    @property
    def resized(self) -> bool:
        """Whether they differ in size alone."""
        return all(call.operation == self.operation for call in self.odd)

    @property
    def text(self) -> str:
        """`rank 2 Broadcast of 25,804,800, the others Broadcast of 64`."""
        return f"{', '.join(f'{_name(call)} {call.text}' for call in self.odd[:LEAST])}, the others {self.usual}"


@memoized
def odd_call(snapshot: Snapshot) -> OddCall | None:
    """Whose last call is another operation or of another size than that of most, all of one number; `None` where nothing is told.
    With sizes that rightly differ (all_to_all, gather) NCCL prints sends and receives, which are left out."""
    last = {(call.host, call.pid): call for line in snapshot.state.tail if (call := _read(line)) is not None}
    calls = [call for call in last.values() if call.ranks == len(last)]  # all of one communicator, and of each its last call
    if len(calls) < LEAST or len(calls) < len(last) or len({call.number for call in calls}) > 1:
        return None
    told = grouped(calls, lambda call: (call.operation, call.count))
    (usual, size) = Counter({key: len(group) for key, group in told.items()}).most_common(1)[0]
    if len(told) == 1 or 2 * size <= len(calls):
        return None
    odd = tuple(_ranked(call, calls) for call in calls if (call.operation, call.count) != usual)
    return OddCall(odd, told[usual][0].text, calls[0].number, usual[0])


def odd_callers(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The processes of these calls."""
    told = odd_call(snapshot)
    return () if told is None else tuple(_culprit(call, told.usual) for call in told.odd)


def _culprit(call: Call, usual: str) -> Culprit:
    why = f"its collective number {call.number:,} is {call.text}, the others' {usual}"
    return Culprit(call.rank, call.pid, call.host, "likely", (why,))


def _read(line: LogLine) -> Call | None:
    found, writer = _CALL.search(line.text), _WRITER.search(line.prefix)
    if found is None:
        return None
    if writer is None:
        writer = _WRITER.search(f"{line.prefix}{line.text[: found.start()]}")
    if writer is None or found["operation"] in ("Send", "Recv"):
        return None
    number = int(found["number"], 16)
    size, ranks = int(found["count"]), int(found["ranks"])
    device, pid = int(writer["device"]), int(writer["pid"])
    return Call(line.rank, writer["host"], pid, device, number, found["operation"], size, ranks)


def _ranked(call: Call, calls: list[Call]) -> Call:
    """With its rank, where all are on one machine: there each has the GPU of its number."""
    alone = len({each.host for each in calls}) == 1 and {each.device for each in calls} == set(range(call.ranks))
    rank = call.device if call.rank is None and alone else call.rank
    return Call(rank, call.host, call.pid, call.device, call.number, call.operation, call.count, call.ranks)


def _name(call: Call) -> str:
    return f"rank {call.rank}" if call.rank is not None else f"pid {call.pid} on {call.host}"
