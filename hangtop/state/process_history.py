"""The history of each rank: its CPU, which shows when it stopped computing or began to spin, and its memory. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import Struct

from hangtop.records.process import Process, ProcessReading
from hangtop.records.samples import Samples, add_recent, add_whole

SLOT_S = 10.0
ProcessKey = tuple[str, int, int]
"""Host, pid and start ticks: they identify a process for good."""


class ProcessTrack(Struct, frozen=True):
    """`cpu_percent`: the last 10 minutes; `held_bytes`: memory of the process and its descendants over the whole watch, ever
    coarser."""

    cpu_percent: Samples = Samples(SLOT_S)
    held_bytes: Samples = Samples(SLOT_S)


ProcessTracks = Mapping[ProcessKey, ProcessTrack]


def fold_tracks(known: ProcessTracks, reading: ProcessReading, host: str, at: float, log_pids: Collection[int]) -> ProcessTracks:
    """The tracks after this reading: of the ranks (also those that only the log names), or of the topmost processes if there are
    none. A rank that is gone keeps its track while it is listed as ended."""
    kept = {(host, process.pid, process.start_ticks) for process in reading.ended}
    tracks = {key: track for key, track in known.items() if key[0] != host or key in kept}
    followed = _followed(reading.processes, log_pids)
    held = _held(reading.processes, followed)
    for process in reading.processes:
        if process.pid in followed:
            key = (host, process.pid, process.start_ticks)
            before, cpu = known.get(key) or ProcessTrack(), process.cpu_percent
            tracks[key] = ProcessTrack(
                before.cpu_percent if cpu is None else add_recent(before.cpu_percent, at, cpu),
                before.held_bytes if process.state in "ZX" else add_whole(before.held_bytes, at, held[process.pid]),
            )
    return MappingProxyType(tracks)


def _followed(processes: Collection[Process], log_pids: Collection[int]) -> set[int]:
    ranks = {process.pid for process in processes if process.role == "rank" or process.pid in log_pids}
    pids = {process.pid for process in processes}
    return ranks or {process.pid for process in processes if process.ppid not in pids}


def _held(processes: Collection[Process], followed: Collection[int]) -> dict[int, int]:
    """Resident bytes by pid, with the descendants that have no track of their own. `processes`: parents first."""
    held = {process.pid: process.rss_bytes or 0 for process in processes}
    for process in reversed(tuple(processes)):
        if process.ppid in held and process.pid not in followed:
            held[process.ppid] += held[process.pid]
    return held
