"""How fast file servers answer: NFS by /proc/self/mountstats (nfsiostat(8) reads it too), Lustre by the statistics of its client
(Lustre manual, "req_waittime"). Reading them asks no server anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.records.host_signals import ServedMount
from hangtop.system.processes.proc_files import read_text

MOUNTS = "/proc/self/mountstats"
LUSTRE = ("/proc/fs/lustre", "/sys/kernel/debug/lustre")
LUSTRE_STATS = ("osc/*/stats", "mdc/*/stats")
SERVED = ("nfs", "nfs4")


class Totals(Struct, frozen=True):
    """Since the mount: requests answered, sent again, timed out; milliseconds from call to answer, all together."""

    requests: int = 0
    again: int = 0
    late: int = 0
    waited_ms: float = 0.0


class MountReader:
    """Compares with its last look."""

    def __init__(self, lustre: tuple[str, ...] = LUSTRE) -> None:
        self._lustre = tuple(map(Path, lustre))
        self._last: dict[tuple[str, str], Totals] = {}

    def read(self, text: str | None = None) -> tuple[ServedMount, ...]:
        """`text`: that of mountstats, where it is not to be read. What was not asked since the last look has no mean."""
        found = dict(parse_mountstats(read_text(MOUNTS) if text is None else text))
        found |= {(f"Lustre {name}", name): totals for root in self._lustre for name, totals in _lustre(root)}
        last, self._last = self._last, found
        return tuple(_since(place, totals, last.get(place)) for place, totals in found.items())


def parse_mountstats(text: str) -> Iterator[tuple[tuple[str, str], Totals]]:
    """(path, server) and its totals, for each mount of NFS. A line of an operation: ops, transmissions, timeouts, bytes sent,
    bytes received, queue, round trip, execution in ms (net/sunrpc/stats.c, rpc_clnt_show_stats)."""
    place: tuple[str, str] | None = None
    totals, per_op = Totals(), False
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["device"]:
            if place is not None:
                yield place, totals
            is_served = "fstype" in words and words[words.index("fstype") + 1] in SERVED and "on" in words
            place = (clean_text(words[words.index("on") + 1]), clean_text(words[1])) if is_served else None
            totals, per_op = Totals(), False
        elif line.strip() == "per-op statistics":
            per_op = True
        elif per_op and place is not None and len(words) >= 9 and words[0].endswith(":"):
            ops, sent, late, *_, executed = (int(word) if word.isdecimal() else 0 for word in words[1:9])
            totals = Totals(
                totals.requests + ops, totals.again + max(0, sent - ops), totals.late + late, totals.waited_ms + executed
            )
    if place is not None:
        yield place, totals


def parse_lustre(text: str) -> Totals:
    """`req_waittime  8 samples [usec] 50 900 2400 …`: count, unit, least, most, sum."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["req_waittime"] and len(words) >= 7:
            return Totals(requests=int(words[1]), waited_ms=int(words[6]) / 1000)
    return Totals()


def _lustre(root: Path) -> Iterator[tuple[str, Totals]]:
    for pattern in LUSTRE_STATS:
        for stats in sorted(root.glob(pattern)) if root.is_dir() else ():
            yield clean_text(stats.parent.name), parse_lustre(read_text(stats))


def _since(place: tuple[str, str], totals: Totals, last: Totals | None) -> ServedMount:
    last = last if last is not None and last.requests <= totals.requests else totals
    requests = totals.requests - last.requests
    mean_ms = round((totals.waited_ms - last.waited_ms) / requests, 1) if requests else None
    return ServedMount(*place, mean_ms, requests, totals.again - last.again, totals.late - last.late)
