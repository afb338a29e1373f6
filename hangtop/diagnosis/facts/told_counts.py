"""How many batches, samples or parameters each rank said that it has: where that differs, the one with fewer is done first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from hangtop.common.late_pattern import late_pattern
from hangtop.common.memo import memoized
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine
from hangtop.records.verdict import Culprit

_COUNT = late_pattern(
    r"(?:\b[Rr]ank[ =:#]{0,2}(?P<rank>\d{1,6})\b[^\r\n\d]{0,60}?)?\b(?:[Nn]um(?:ber)?(?: of |_| ))?"
    r"(?P<what>[Bb]atches|[Ss]amples|[Ee]xamples|[Ss]teps_per_epoch|[Pp]arameters|[Pp]arams)\b\W{1,4}(?P<number>\d[\d,]{0,15})\b"
)
"""`rank 2: number of batches 8`, `[rank1] num_samples = 1,204`."""
_NUMBER_FIRST = late_pattern(
    r"\b(?:[Rr]ank|RANK)[ =:#]{0,2}(?P<rank>\d{1,6})\b[^\r\n]{0,80}?(?<![\d/.,-])(?P<number>\d[\d,]{0,15}) "
    r"(?P<what>batches|samples|examples)\b(?! ?/)"
)
"""`[RANK:1] packed into 211 rows, 103 batches`. Said once by each rank: what is said again counts what was done."""
OF_PARAMETERS = "param"
Counts = Mapping[str, Mapping[int, int]]


@memoized
def counts_told(snapshot: Snapshot) -> Counts:
    """By what is counted, the number of each rank; only what is not the same on all of them."""
    told = {what: dict(counts) for what, counts in _counts(snapshot.state.tail).items()}
    return MappingProxyType({what: counts for what, counts in told.items() if len(set(counts.values())) > 1})


def had_fewer(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The one rank with the fewest batches or samples: the others wait in a round that it does not have."""
    for what, counts in counts_told(snapshot).items():
        least = min(counts.values())
        fewest = [rank for rank, number in counts.items() if number == least]
        if not what.startswith(OF_PARAMETERS) and len(fewest) == 1:
            why = f"it has {least:,} {what}, others up to {max(counts.values()):,}"
            return (Culprit(fewest[0], snapshot.pid_of.get(fewest[0]), None, "likely", (why,)),)
    return ()


def _counts(lines: Iterable[LogLine]) -> dict[str, dict[int, int]]:
    told: dict[str, dict[int, int]] = {}
    first: dict[str, dict[int, int]] = {}
    times: Counter[tuple[str, int]] = Counter()
    for line in lines:
        if (found := _COUNT.search(line.text)) is not None:
            rank = found["rank"] or (None if line.rank is None else str(line.rank))
            if rank is not None:
                told.setdefault(found["what"].lower(), {})[int(rank)] = int(found["number"].replace(",", ""))
        elif (found := _NUMBER_FIRST.search(f"{line.prefix}{line.text}")) is not None:
            times[found["what"], int(found["rank"])] += 1
            first.setdefault(found["what"], {})[int(found["rank"])] = int(found["number"].replace(",", ""))
    for what, counts in first.items():
        if what not in told and all(times[what, rank] == 1 for rank in counts):
            told[what] = counts
    return told
