"""The CPU of each rank over the last ten minutes: when it stopped computing, or began to spin. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from hangtop.records.process import ProcessReading
from hangtop.records.samples import Samples, add_recent

SLOT_S = 10.0
ProcessKey = tuple[str, int, int]
"""Host, pid and start ticks: this process and no other."""
CpuTracks = Mapping[ProcessKey, Samples]


def fold_cpu(known: CpuTracks, reading: ProcessReading, host: str, at: float, log_pids: Collection[int]) -> CpuTracks:
    """The tracks after this reading. Only of ranks, also of those that the log alone names; what is gone keeps its track while it
    is listed as ended."""
    kept = {(host, one.pid, one.start_ticks) for one in reading.ended}
    tracks = {key: track for key, track in known.items() if key[0] != host or key in kept}
    for process in reading.processes:
        if process.cpu_percent is None or not (process.role == "rank" or process.pid in log_pids):
            continue
        key = (host, process.pid, process.start_ticks)
        tracks[key] = add_recent(known.get(key) or Samples(SLOT_S), at, process.cpu_percent)
    return MappingProxyType(tracks)
