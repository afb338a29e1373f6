"""A recording for a picture of the whole session: what comes by the clock is read only as often as the picture has columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hangtop.feeds.replay import RecordingError, decoded, placed_lines, restored
from hangtop.records import wire
from hangtop.records.reading import Reading

_LINE = re.compile(
    rb'\{"source":"[^"]*","host":("[^"]*"),"at":([0-9]+(?:\.[0-9]+)?),"value":\{"type":"(procs|gpu|host|checkpoints|ray|log|changed)"'
)
"""How the wire writes a reading that comes by the clock; each is whole, so one may be left out."""
LOG_EVERY_S = 60.0
"""So often the log is read at least: half of the shortest pause between steps that a picture shows."""


class Glimpses:
    """One recording, read once, for about so many `looks` at it. Raises `RecordingError` for what is none.

    How long it lasted is known at its end only, and unpacking it is most of the work. So it is guessed while it is read: by the
    time that passed in the part of its bytes that has been read.
    """

    def __init__(self, data: bytes, name: str, looks: float) -> None:
        self._data, self._looks = data, looks
        self.every_s = 0.0
        """How far two looks are apart, as far as is known."""
        lines = (line for _, line in placed_lines(data))
        try:
            self.header = wire.decode_header(next(lines, b""))
        except wire.WireError as error:
            raise RecordingError(f"{name}: {error}") from error
        if all(reading is None for reading in decoded(lines)):
            raise RecordingError(f"{name}: the recording holds no reading")

    def readings(self) -> Iterator[Reading]:
        """Its readings; of each host's that come by the clock one in `every_s`, of its log more; and the last of the log."""
        before: dict[tuple[str, str, str], Reading] = {}
        for reading in decoded(self._wanted()):
            if reading is not None and (whole := restored(reading, before)) is not None:
                yield whole

    def _wanted(self) -> Iterator[bytes]:
        due: dict[bytes, float] = {}
        held: dict[bytes, bytes] = {}  # the newest of each log that was left out
        began_at: float | None = None
        for place, line in placed_lines(self._data):
            if (found := _LINE.match(line)) is None:
                yield line
                continue
            at, kind, key = float(found[2]), found[3], found[3] + found[1]
            began_at = at if began_at is None else began_at
            self.every_s = max(0.0, at - began_at) * len(self._data) / (max(1, place) * self._looks)
            if kind == b"changed":  # in recordings of older hangtops: since the one before
                yield from held.values()
                held.clear()
            elif at < due.get(key, 0.0):
                if kind == b"log":
                    held[key] = line
                continue
            else:
                due[key] = at + (min(self.every_s, LOG_EVERY_S) if kind == b"log" else self.every_s)
                held.pop(key, None)
            yield line
        yield from held.values()
