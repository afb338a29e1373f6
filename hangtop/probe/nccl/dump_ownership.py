"""Which flight recorder dumps are the run's: all jobs of a machine may write to one place, and old dumps stay there.

A dump belongs to a rank if it lies where the rank's environment says, has the rank's user as owner, was written after the rank
started, no living rank of another job writes there too, and the threads that it names are in the rank's memory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from hangtop.common.text import some
from hangtop.probe.nccl import flight_recorder
from hangtop.records.nccl import FlightDump
from hangtop.system.processes.proc_files import namespace, read_text

FIFO_END = ".pipe"


class RankProcess(Struct, frozen=True):
    """A process that is a rank. `started_at`: unix time. `environ`: the variables that tell where its dumps lie."""

    pid: int
    rank: int
    started_at: float
    uid: int | None
    environ: Mapping[str, str] = {}


class Dumps(Struct, frozen=True):
    """The dumps of the run, and one line on others that lie beside them."""

    own: tuple[FlightDump, ...] = ()
    note: str | None = None


def dumps_of(ranks: Sequence[RankProcess], strangers: Sequence[RankProcess], world: int | None) -> Dumps:
    """The dumps of these ranks, and in the same folder those of their peers on other machines."""
    taken = {path: other for other in strangers for path in _paths(other).values()}
    own: dict[str, FlightDump] = {}
    foreign: list[str] = []
    shared: dict[str, bool] = {}
    for rank in ranks:
        for beginning, path in _paths(rank).items():
            found = _read(path, rank)
            if found is None:
                continue
            is_new = found.dump.at >= rank.started_at and found.uid == rank.uid
            rival = taken.get(path)  # of another job; threads in the dump decide, if it names any
            may_be_rivals = rival is not None and rival.started_at <= found.dump.at and not found.threads
            is_own = is_new and not may_be_rivals and _is_of(found, rank)
            shared[beginning] = is_own and shared.get(beginning, True)
            if is_own:
                own[path] = found.dump
            else:
                foreign.append(found.dump.path)
    proven = [beginning for beginning, is_own in shared.items() if is_own]
    for dump in _elsewhere(proven, ranks, world):
        own.setdefault(dump.path, dump)
    note = f"{some(len(foreign), 'dump')} of another job or an older run left out: {foreign[0]}" if foreign else None
    return Dumps(tuple(sorted(own.values(), key=lambda dump: (dump.rank, dump.path))), note)


def fifo_of(rank: RankProcess) -> str | None:
    """The FIFO that asks this rank for its dump; `None` unless the process itself has it open."""
    beginning = next((rank.environ[name] for name in flight_recorder.PIPES if rank.environ.get(name)), None)
    if beginning is None:
        return None
    path = _seen(rank.pid, f"{beginning}{rank.rank}{FIFO_END}")
    try:
        about = os.stat(path, follow_symlinks=False)
        return path if stat.S_ISFIFO(about.st_mode) and _holds(rank.pid, about) else None
    except OSError:  # no FIFO there, or gone, or not ours to see
        return None


def _holds(pid: int, wanted: os.stat_result) -> bool:
    folder = f"/proc/{pid}/fd"
    for fd in os.listdir(folder):
        with suppress(OSError):  # closed meanwhile
            if os.path.samestat(os.stat(f"{folder}/{fd}"), wanted):
                return True
    return False


def _read(path: str, rank: RankProcess) -> flight_recorder.OwnedDump | None:
    try:
        return flight_recorder.read(Path(path), rank.rank)
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = error.strerror or str(error)
        return flight_recorder.OwnedDump(
            FlightDump(rank.rank, path, rank.started_at, problem=problem), -1 if rank.uid is None else rank.uid
        )


def _is_of(found: flight_recorder.OwnedDump, rank: RankProcess) -> bool:
    """Whether one of its threads is in the memory of this process. Older torch names none: then place, owner and time decide."""
    if not found.threads:
        return True
    lines = read_text(f"/proc/{rank.pid}/maps").splitlines()
    spans = [tuple(int(end, 16) for end in line.split(" ", 1)[0].split("-")) for line in lines if "-" in line]
    return any(first <= thread < last for thread in found.threads for first, last in spans)


def _elsewhere(proven: Iterable[str], ranks: Sequence[RankProcess], world: int | None) -> Iterable[FlightDump]:
    """Dumps of ranks on other machines, in a shared folder that holds proven dumps of this run."""
    here = {rank.rank for rank in ranks}
    since = min((rank.started_at for rank in ranks), default=0.0)
    uids = {rank.uid for rank in ranks}
    named = {rank.environ[name] for rank in ranks for name in flight_recorder.NAMES if rank.environ.get(name)}
    for beginning in named.intersection(proven):
        for number in range(world or 0):
            if number in here:
                continue
            try:
                found = flight_recorder.read(Path(f"{beginning}{number}"), number)
            except OSError:  # not written yet, or not ours to see
                continue
            if found is not None and found.dump.at >= since and found.uid in uids:
                yield found.dump


def _paths(rank: RankProcess) -> dict[str, str]:
    """Our paths of its dumps, by what its own begin with."""
    return {beginning: _seen(rank.pid, f"{beginning}{rank.rank}") for beginning in flight_recorder.beginnings(rank.environ)}


def _seen(pid: int, path: str) -> str:
    """Our path for what this process calls `path`: it may live in a container, or in another folder."""
    if not path.startswith("/"):
        return os.path.join(f"/proc/{pid}/cwd", path)
    return path if namespace(pid, "mnt") in (None, namespace("self", "mnt")) else f"/proc/{pid}/root{path}"
