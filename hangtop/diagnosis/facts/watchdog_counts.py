"""How many collectives each rank had launched when its watchdog spoke: torch writes it at a timeout (ProcessGroupNCCL.cpp).

The rank that launched fewer than its peers is the one that they wait for, even where all of them complain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from hangtop.common.late_pattern import late_pattern
from hangtop.common.memo import memoized
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine
from hangtop.records.verdict import Culprit

_ENQUEUED = late_pattern(r"[Ll]ast enqueued (?:NCCL )?work: (\d+)")
_WAITS_IN = late_pattern(r"collective operation timeout: Work\w+\(SeqNum=(\d+)")
_OPERATION = late_pattern(r"collective operation timeout: Work\w+\(SeqNum=(\d+), OpType=(\w+)")
_RANK = late_pattern(r"\bRank (\d+)\]")
_GROUP = late_pattern(r"\[PG (?:ID |GUID )?(\w+)")
SAID = (
    (_ENQUEUED, "launched {:,} of {:,} collectives"),
    (_WAITS_IN, "waits in collective {:,}, its peers in {:,}"),
)
DEFAULT_GROUP = ("", "0", "default", "0(default_pg)")


@memoized
def launched_fewer(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The ranks that launched fewer collectives of the whole run's group than most, by the last lines of the log."""
    tail = snapshot.state.tail
    for pattern, words in SAID:
        counts = {rank: int(found[1]) for rank, found in _last(tail, pattern).items()}
        most = max(counts.values(), default=0)
        behind = {rank: count for rank, count in counts.items() if count < most}
        if behind and 2 * len(behind) < len(counts):
            pids = snapshot.pid_of
            told = {rank: words.format(count, most) for rank, count in sorted(behind.items())}
            return tuple(Culprit(rank, pids.get(rank), None, "likely", (why,)) for rank, why in told.items())
    return ()


@memoized
def ran_out_elsewhere(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The ranks that ran out of time in another operation than most, who wait in one together: these wait for them."""
    last = _last(snapshot.state.tail, _OPERATION)
    places = {rank: (found[2], int(found[1])) for rank, found in last.items()}
    (most, size), *_ = Counter(places.values()).most_common(1) or [(("", 0), 0)]
    odd = {rank: place for rank, place in sorted(places.items()) if place[0] != most[0]}
    if not odd or 2 * size <= len(places):
        return ()
    pids = snapshot.pid_of
    peers = f"its peers in {most[0]} number {most[1]:,}"
    return tuple(
        Culprit(rank, pids.get(rank), None, "likely", (f"waits in {operation} number {number:,}, {peers}",))
        for rank, (operation, number) in odd.items()
    )


def _last(lines: Iterable[LogLine], pattern: re.Pattern[str]) -> dict[int, re.Match[str]]:
    """By rank, what it told last of the group of all ranks."""
    found: dict[int, re.Match[str]] = {}
    for line in lines:
        if (told := pattern.search(line.text)) is None:
            continue
        text = f"{line.prefix}{line.text}"
        group, named = _GROUP.search(text), _RANK.search(text)
        rank = int(named[1]) if named else line.rank
        if rank is not None and (group is None or group[1] in DEFAULT_GROUP):
            found[rank] = told
    return found
