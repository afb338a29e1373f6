"""Which rank ran another collective than its peers: torch names those of both sides when their fingerprints differ.

Each rank that compares complains, the wrong one and the right ones alike (ProcessGroupWrapper.cpp, with
TORCH_DISTRIBUTED_DEBUG=DETAIL).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine
from hangtop.records.verdict import Culprit

MISMATCH = "dist.collective_mismatch"
_RUNS = re.compile(
    r"Rank (?P<rank>\d+) is running collective: CollectiveFingerPrint\("
    r"(?P<what>(?:SequenceNumber=\d+, )?OpType=\w+(?:, TensorShape=\[[\d, ]*\])?)"
)


def ran_another(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The ranks whose collective is not that of most, by the last lines of the log; none where no more than half agree."""
    ran = _running(snapshot.state.tail)
    [(usual, count)] = Counter(ran.values()).most_common(1) or [("", 0)]
    if 2 * count <= len(ran):
        return ()
    pids = snapshot.pid_of
    return tuple(
        Culprit(rank, pids.get(rank), None, "likely", (f"runs {what}, most others {usual}",))
        for rank, what in sorted(ran.items())
        if what != usual
    )


def _running(lines: Iterable[LogLine]) -> dict[int, str]:
    """By rank, the last collective that anybody told of it."""
    return {int(told["rank"]): told["what"] for line in lines for told in _RUNS.finditer(line.text)}
