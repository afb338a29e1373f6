"""Which collectives ran out of time, as torch's watchdogs write it: what they were tells what the missing rank may do instead."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from hangtop.common.grouped import grouped
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine

TIMEOUT = "nccl.watchdog_timeout"
_WORK = re.compile(
    r"collective operation timeout: Work\w{0,12}\(SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)(?:, NumelIn=(?P<numel>\d+))?"
)
_GROUP = re.compile(r"\[PG (?:ID |GUID )?(\w+)")
_RANK = re.compile(r"\[Rank (\d{1,6})\] Watchdog caught")
_OF_ONE_SIZE = frozenset("ALLGATHER _ALLGATHER_BASE ALLREDUCE REDUCE REDUCE_SCATTER _REDUCE_SCATTER_BASE BROADCAST".split())
"""Collectives to which all ranks must give the same number of elements (NCCL's user guide)."""


class TimedOut(Struct, frozen=True):
    """One collective: its number in its group, its name, and how many numbers each rank gave to it (-1: not told)."""

    seq: int
    operation: str
    numel: int = -1
    group: str = ""


def timed_out(snapshot: Snapshot) -> tuple[TimedOut, ...]:
    """Those of the last lines of the log, each once; else the first one that a finding tells."""
    found = dict.fromkeys(_in(snapshot.state.tail))
    if not found:
        told = (finding.text for finding in snapshot.findings if finding.id == TIMEOUT)
        found = dict.fromkeys(one for text in told if (one := _read(text, "")) is not None)
    return tuple(found)


def _in(lines: Iterable[LogLine]) -> Iterable[TimedOut]:
    for line in lines:
        group = _GROUP.search(f"{line.prefix}{line.text}")
        if (one := _read(line.text, group[1] if group else "")) is not None:
            yield one


def _read(text: str, group: str) -> TimedOut | None:
    told = _WORK.search(text)
    return None if told is None else TimedOut(int(told["seq"]), told["op"], int(told["numel"] or -1), group)


def sizes_that_differ(snapshot: Snapshot) -> dict[int, TimedOut]:
    """By rank, one collective to which ranks gave different numbers of elements; empty where none is told of two."""
    told: list[tuple[int, TimedOut]] = []
    for line in snapshot.state.tail:
        text = f"{line.prefix}{line.text}"
        rank, group = _RANK.search(text), _GROUP.search(text)
        one = _read(line.text, group[1] if group else "") if rank else None
        if rank and one is not None and one.numel >= 0 and one.operation in _OF_ONE_SIZE:
            told.append((int(rank[1]), one))
    for same in grouped(told, lambda each: (each[1].group, each[1].seq, each[1].operation)).values():
        if len({one.numel for _, one in same}) > 1 and len({rank for rank, _ in same}) > 1:
            return dict(same)
    return {}
