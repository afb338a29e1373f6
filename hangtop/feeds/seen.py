"""What this hangtop has seen, as a recording in memory: it is asked, drawn and compared in a process of its own."""

from __future__ import annotations

import zlib
from collections import deque

from msgspec.structs import replace

from hangtop import __version__
from hangtop.records import wire
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.gpu import GpuReading
from hangtop.records.health import Heartbeat
from hangtop.records.host import HostReading
from hangtop.records.log import LogReading, PageReading
from hangtop.records.process import ProcessReading
from hangtop.records.ray.cluster import RayReading
from hangtop.records.reading import Reading, Value
from hangtop.records.watch_spec import WatchSpec

MOST_BYTES = 8 << 20
"""So much is kept, packed; then the oldest goes. Of a run on 8 GPUs that is some hours."""
STREAM_BYTES = 256 << 10
"""What goes at once."""
LOG_EVERY_S, OTHERS_EVERY_S = 1.0, 5.0
BYTES_A_SECOND = 20_000
"""A source with large readings is kept less often, so that packing takes no more than a few milliseconds of the screen's time a
second."""
MOST_LINES = 50
LEFT_OUT: tuple[type[Value], ...] = (PageReading, Heartbeat)
BY_THE_CLOCK: tuple[type[Value], ...] = (ProcessReading, GpuReading, HostReading, CheckpointReading, RayReading)
"""Of these a part is kept; of what comes now and then, all."""


class Seen:
    """Readings of one session, in order, the newest `MOST_BYTES` of them. Never blocks."""

    def __init__(self, spec: WatchSpec, at: float) -> None:
        self._header = wire.encode(wire.Header(wire.SCHEMA, __version__, at, spec))
        self._with_lines = "-" in spec.logs or bool(spec.hosts)  # else the log itself has them all
        self._streams: deque[bytearray] = deque()
        self._begins: deque[float] = deque()
        self._packer = _packer()
        self._bytes = 0
        self._due: dict[tuple[str, str, type[Value]], float] = {}
        self._held: Reading | None = None

    @property
    def begins_at(self) -> float | None:
        """Unix time of the oldest that is kept."""
        return self._begins[0] if self._begins else None

    def keep(self, reading: Reading) -> None:
        """Take in a reading, as far as its source is due. What log readings tell only once is not lost: it goes into the next."""
        value = reading.value
        if isinstance(value, LEFT_OUT):
            return
        if isinstance(value, LogReading):
            before = self._held.value if self._held is not None else None
            merged = _merged(before if isinstance(before, LogReading) else None, value, self._with_lines)
            reading = self._held = replace(reading, value=merged)
        key = reading.source, reading.host, type(value)
        if reading.at < self._due.get(key, 0.0):
            return
        line = wire.encode(reading)
        if isinstance(value, (LogReading, *BY_THE_CLOCK)):
            every_s = LOG_EVERY_S if isinstance(value, LogReading) else OTHERS_EVERY_S
            self._due[key] = reading.at + max(every_s, len(line) / BYTES_A_SECOND)
        if isinstance(value, LogReading):
            self._held = None
        self._pack(line, reading.at)

    def recording(self) -> bytes:
        """All of it, as a recording file would hold it."""
        held = b"" if self._held is None else wire.encode(self._held)
        if not self._streams:
            return self._header + held
        self._streams[-1] += self._packer.flush(zlib.Z_SYNC_FLUSH)
        last = _packer()
        return self._header + b"".join(self._streams) + (last.compress(held) + last.flush() if held else b"")

    def _pack(self, line: bytes, at: float) -> None:
        if not self._streams or len(self._streams[-1]) > STREAM_BYTES:
            if self._streams:
                self._streams[-1] += self._packer.flush()
            self._packer = _packer()
            self._streams.append(bytearray())
            self._begins.append(at)
        packed = self._packer.compress(line)
        self._streams[-1] += packed
        self._bytes += len(packed)
        while self._bytes > MOST_BYTES and len(self._streams) > 1:
            self._bytes -= len(self._streams.popleft())
            self._begins.popleft()


def _packer() -> zlib._Compress:
    return zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16)  # gzip, as `feeds.recorder` writes it


def _merged(before: LogReading | None, after: LogReading, with_lines: bool) -> LogReading:
    """Both as one: ranks and lines that `before` told alone are told again."""
    tail = after.tail if with_lines else ()
    if before is None or after.fresh:
        return replace(after, tail=tail[-MOST_LINES:])
    ranks = {rank.rank: rank for rank in (*before.ranks, *after.ranks)}
    return replace(after, ranks=tuple(ranks.values()), tail=(*before.tail, *tail)[-MOST_LINES:], fresh=before.fresh)
