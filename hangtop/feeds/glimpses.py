"""A recording for a picture of the whole session: what comes by the clock is read only as often as the picture has columns."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from hangtop.feeds.parts import STREAM
from hangtop.feeds.replay import RecordingError, decoded, lines_of, restored
from hangtop.records import wire
from hangtop.records.reading import Reading

_LINE = re.compile(rb'\{"source":"[^"]*","host":("[^"]*"),"at":([0-9.e+]+),"value":\{"type":"(procs|gpu|host|checkpoints|ray)"')
"""How the wire writes a reading that comes by the clock; each is whole, so one may be left out."""


class Glimpses:
    """One recording. `span`: unix time of its first and last reading. Raises `RecordingError` for what is none."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data, lines = data, lines_of(data)
        try:
            self.header = wire.decode_header(next(lines, b""))
        except wire.WireError as error:
            raise RecordingError(f"{name}: {error}") from error
        first = next((reading for reading in decoded(lines) if reading is not None), None)
        if first is None:
            raise RecordingError(f"{name}: the recording holds no reading")
        self.span = (first.at, max(first.at, self._last_at()))

    def readings(self, every_s: float) -> Iterator[Reading]:
        """Its readings; of each host's that come by the clock one in `every_s`."""
        due: dict[bytes, float] = {}

        def wanted() -> Iterator[bytes]:
            for line in lines_of(self._data):
                if (found := _LINE.match(line)) is not None:
                    key, at = found[3] + found[1], float(found[2])
                    if at < due.get(key, 0.0):
                        continue
                    due[key] = at + every_s
                yield line

        before: dict[tuple[str, str, str], Reading] = {}
        for reading in decoded(wanted()):
            if reading is not None and (whole := restored(reading, before)) is not None:
                yield whole

    def _last_at(self) -> float:
        """The time of the last line that is whole: the very last may be cut."""
        plain = STREAM not in self._data
        last = self._data.rsplit(b"\n", 3)[1:] if plain else list(deque(lines_of(self._data), maxlen=2))
        return max((reading.at for reading in decoded(iter(last)) if reading is not None), default=0.0)
