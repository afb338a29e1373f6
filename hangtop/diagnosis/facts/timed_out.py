"""Which collectives ran out of time, as torch's watchdogs write it: what they were tells what the missing rank may do instead."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine

TIMEOUT = "nccl.watchdog_timeout"
_WORK = re.compile(
    r"collective operation timeout: Work\w{0,12}\(SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)(?:, NumelIn=(?P<numel>\d+))?"
)
_GROUP = re.compile(r"\[PG (?:ID |GUID )?(\w+)")


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
