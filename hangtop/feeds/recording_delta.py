"""Recordings hold what changes: of hundreds of processes, GPUs and actors most are as before. Pure.

A reading that replaces the previous one of its kind is written whole every `WHOLE_EVERY_S`, and in between as a `Changed` with
the parts that differ. A part is `[new]` for another value, `null` for a field that is back at its default, or a dict with the
parts of a record by field name, or of a list of records by index.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.changed import Changed
from hangtop.records.gpu import GpuReading
from hangtop.records.health import Heartbeat
from hangtop.records.host import HostReading
from hangtop.records.process import Process, ProcessReading
from hangtop.records.ray.cluster import RayReading
from hangtop.records.reading import Reading, Value

WHOLE_EVERY_S = 60.0
"""At most this long nothing plays after a line that was torn or left out."""
LONGER_S = 0.5
REPLACING = ProcessReading | GpuReading | RayReading | HostReading | Heartbeat

Fields = dict[str, Any]
Key = tuple[str, str, str]
"""Source, host and kind: each reading replaces the previous one with the same key."""

_as_fields: msgspec.json.Decoder[Fields] = msgspec.json.Decoder(Fields)


class RecordedReading(Struct, frozen=True):
    """The latest reading in a recording. `whole_at`: when one was last written whole."""

    at: float
    whole_at: float
    value: Value
    fields: Fields


class DeltaEncoder:
    """Replaces readings by their changes, on the way into a recording."""

    def __init__(self) -> None:
        self._told: dict[Key, RecordedReading] = {}

    def thin(self, reading: Reading) -> Reading:
        """The reading as it should be written."""
        if not isinstance(reading.value, REPLACING):
            return reading
        kind = _kind(reading.value)
        key = (reading.source, reading.host, kind)
        before = self._told.get(key)
        if before is None or reading.at - before.whole_at >= WHOLE_EVERY_S:
            self._told[key] = RecordedReading(reading.at, reading.at, reading.value, _fields(reading.value))
            return reading
        value = _settled(before.value, reading.value)
        fields = _fields(value)
        self._told[key] = RecordedReading(reading.at, before.whole_at, value, fields)
        return replace(reading, value=Changed(kind, before.at, _difference(before.fields, fields)))

    def forget(self) -> None:
        """A line was not written: the next readings must be whole."""
        self._told.clear()


class DeltaDecoder:
    """Restores readings from their changes, on the way out of a recording."""

    def __init__(self) -> None:
        self._known: dict[Key, RecordedReading] = {}

    def whole(self, reading: Reading) -> Reading | None:
        """The reading as it was, except for the observation time of unchanged processes; `None` if the reading that it changes
        was lost."""
        value = reading.value
        if isinstance(value, REPLACING):
            told = RecordedReading(reading.at, reading.at, value, _fields(value))
            self._known[reading.source, reading.host, _kind(value)] = told
        if not isinstance(value, Changed):
            return reading
        key = (reading.source, reading.host, value.kind)
        known = self._known.get(key)
        if known is None or known.at != value.since:
            return None
        fields = _applied(known.fields, value.parts)
        filled: Value = msgspec.convert(fields, Value)
        self._known[key] = RecordedReading(reading.at, known.whole_at, filled, fields)
        return replace(reading, value=filled)


def unchanged(old: ProcessReading, new: ProcessReading) -> bool:
    """True if only sample counts changed. The observation time must be the same too, since rules use it."""
    if replace(old, processes=()) != replace(new, processes=()) or _settled(old, new) != old:
        return False
    return all(
        _watched_s(after) < _watched_s(before) + LONGER_S for before, after in zip(old.processes, new.processes, strict=True)
    )


def _settled(old: Value, new: Value) -> Value:
    """The new reading, with processes taken from the old one if only their observation time changed."""
    if not isinstance(old, ProcessReading) or not isinstance(new, ProcessReading) or len(old.processes) != len(new.processes):
        return new
    return replace(new, processes=tuple(map(_calmer, old.processes, new.processes)))


def _calmer(old: Process, new: Process) -> Process:
    return old if old == new or _timeless(old) == _timeless(new) else new


def _watched_s(process: Process) -> float:
    return process.recent.seconds if process.recent is not None else 0.0


def _timeless(process: Process) -> Process:
    return replace(process, recent=process.recent and replace(process.recent, seconds=0.0, samples=0))


def _kind(value: Value) -> str:
    return str(type(value).__struct_config__.tag)


def _fields(value: Value) -> Fields:
    return _as_fields.decode(msgspec.json.encode(value))


def _difference(old: Any, new: Any) -> Any:
    """The part that makes `new` of `old`."""
    if isinstance(old, dict) and isinstance(new, dict):
        changed = (key for key, value in new.items() if key not in old or old[key] != value)
        return {key: _difference(old.get(key), new[key]) for key in changed} | dict.fromkeys(old.keys() - new.keys())
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and all(isinstance(item, dict) for item in new):
        pairs = enumerate(zip(old, new, strict=True))
        return {str(place): _difference(before, after) for place, (before, after) in pairs if before != after}
    return [new]


def _applied(old: Any, part: Any) -> Any:
    """What `part` makes of `old`."""
    if isinstance(part, list):
        return part[0]
    if isinstance(old, list):
        return [_applied(item, part[str(place)]) if str(place) in part else item for place, item in enumerate(old)]
    kept = {key: value for key, value in old.items() if key not in part}
    return kept | {key: _applied(old.get(key), value) for key, value in part.items() if value is not None}
