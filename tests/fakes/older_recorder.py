"""Writes recordings as older hangtops did: lines that are not compressed, and that hold what changes.

A reading that replaces the previous one of its kind is written whole every `WHOLE_EVERY_S`, and in between as a `Changed` with
the parts that differ. A part is `[new]` for another value, `null` for a field that is back at its default, or a dict with the
parts of a record by field name, or of a list of records by index.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.gpu import GpuReading
from hangtop.records.health import Heartbeat
from hangtop.records.host import HostReading
from hangtop.records.process import Process, ProcessReading
from hangtop.records.ray.cluster import RayReading
from hangtop.records.reading import Changed, Reading, Value

WHOLE_EVERY_S = 60.0
"""At most this long nothing plays after a line that was torn or left out."""
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


def _settled(old: Value, new: Value) -> Value:
    """The new reading, with processes taken from the old one if only their observation time changed."""
    if not isinstance(old, ProcessReading) or not isinstance(new, ProcessReading) or len(old.processes) != len(new.processes):
        return new
    return replace(new, processes=tuple(map(_calmer, old.processes, new.processes)))


def _calmer(old: Process, new: Process) -> Process:
    return old if old == new or _timeless(old) == _timeless(new) else new


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
