"""Of hundreds of processes most do nothing: a recording holds only those that changed since the reading before. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.records.process import Process, ProcessReading, Recent
from hangtop.records.reading import Reading

WHOLE_EVERY_S = 60.0
"""So much of the processes a torn line may cost."""


class Thinner:
    """On the way into a recording: leaves out the processes that are as they were."""

    def __init__(self) -> None:
        self._written: dict[str, ProcessReading] = {}
        self._whole_at: dict[str, float] = {}

    def thin(self, reading: Reading) -> Reading:
        """The reading as it is to be written. Whole when processes came or went, and now and then."""
        value, host = reading.value, reading.host
        if not isinstance(value, ProcessReading):
            return reading
        before = self._written.get(host)
        due = reading.at - self._whole_at.get(host, 0.0) >= WHOLE_EVERY_S
        if before is None or due or list(map(_identity, before.processes)) != list(map(_identity, value.processes)):
            self._written[host], self._whole_at[host] = value, reading.at
            return reading
        kept = tuple(old if _same(old, new) else new for old, new in zip(before.processes, value.processes, strict=True))
        self._written[host] = replace(value, processes=kept)
        changed = tuple(new for old, new in zip(before.processes, kept, strict=True) if old is not new)
        return replace(reading, value=replace(value, processes=changed, changes=True))


class Filler:
    """On the way out of a recording: puts back what was left out."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Process, ...]] = {}

    def whole(self, reading: Reading) -> Reading:
        """The reading as it was, but for how long each process has been looked at."""
        value, host = reading.value, reading.host
        if not isinstance(value, ProcessReading):
            return reading
        if value.changes:
            changed = {_identity(process): process for process in value.processes}
            whole = tuple(changed.get(_identity(process), process) for process in self._known.get(host, ()))
            value = replace(value, processes=whole, changes=False)
        self._known[host] = value.processes
        return replace(reading, value=value)


def _identity(process: Process) -> tuple[int, int]:
    return process.pid, process.start_ticks


def _same(old: Process, new: Process) -> bool:
    """That it was looked at once more is no change."""
    return old == new or _timeless(old) == _timeless(new)


def _timeless(process: Process) -> Process:
    recent: Recent | None = process.recent and replace(process.recent, seconds=0.0, samples=0)
    return replace(process, recent=recent)
