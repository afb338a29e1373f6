"""The runs that hangtop stopped, stored by their logs, so that a later hangtop knows that no error ended them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hangtop.records.stopped import StoppedRun
from hangtop.system.processes.linux import read_stat
from hangtop.system.stores.launch_store import folder, place, write_whole

ENDING = ".stopped"
KEPT = 200
"""How many logs are remembered."""
MOST_LOGS = 64
"""Of a run with more logs only the first ones are stored."""

_stopped = msgspec.json.Decoder(StoppedRun)


def keep(stop: StoppedRun) -> None:
    """Store a stop, or its end. Raises `OSError`."""
    store = folder()
    for log in stop.place.logs[:MOST_LOGS]:
        write_whole(store / _name(log), msgspec.json.encode(stop))
    records = sorted(store.glob(f"*{ENDING}"), key=lambda path: path.stat().st_mtime)
    for path in records[:-KEPT]:
        path.unlink(missing_ok=True)


def forget(stop: StoppedRun) -> None:
    """Remove a stop that did not end the run. Raises `OSError`."""
    for log in stop.place.logs[:MOST_LOGS]:
        (folder() / _name(log)).unlink(missing_ok=True)


class StopStore:
    """Reads the records of a run's logs, again only when they were written anew."""

    def __init__(self) -> None:
        self._logs: dict[str, tuple[str, Path]] = {}
        self._read: dict[str, tuple[int, StoppedRun]] = {}

    def latest(self, logs: Sequence[str]) -> StoppedRun | None:
        """The last stop of the run with these logs, `sizes` by the given names. A stop that broke off does not count."""
        if not _any_stored():
            return None
        known = [stop for log in logs[:MOST_LOGS] if (stop := self._of(log)) is not None]
        last = max(known, key=lambda stop: stop.began_at, default=None)
        if last is None or (last.ended_at is None and not _is_under_way(last)):
            return None
        real = {log: self._place(log)[0] for log in logs}
        return replace(last, sizes={log: last.sizes[path] for log, path in real.items() if path in last.sizes})

    def _place(self, log: str) -> tuple[str, Path]:
        """(its real path, the path of its record)."""
        if log not in self._logs:
            self._logs[log] = os.path.realpath(log), place() / _name(log)
        return self._logs[log]

    def _of(self, log: str) -> StoppedRun | None:
        path = self._place(log)[1]
        try:
            written_ns = path.stat().st_mtime_ns
            if log not in self._read or self._read[log][0] != written_ns:
                self._read[log] = written_ns, _stopped.decode(path.read_bytes())
        except (OSError, msgspec.DecodeError):  # missing, not ours to read, or of another version
            self._read.pop(log, None)
        return self._read[log][1] if log in self._read else None


def _is_under_way(stop: StoppedRun) -> bool:
    stat = read_stat(stop.performer_pid)
    return stat is not None and stat.start_ticks == stop.performer_start_ticks and stat.state not in "ZX"


def _any_stored() -> bool:
    try:
        return any(name.endswith(ENDING) for name in os.listdir(place()))
    except OSError:  # there is no such folder, or it is not ours to read
        return False


def _name(log: str) -> str:
    import hashlib  # 3 ms and 4 MB with OpenSSL, and most machines have no such record

    return f"{hashlib.sha256(os.fsencode(os.path.realpath(log))).hexdigest()[:24]}{ENDING}"
