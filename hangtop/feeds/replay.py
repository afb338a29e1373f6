"""Recordings read again: the lines of the file, and a feed that replays them."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import io
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hangtop.feeds.parts import STREAM, read_parts
from hangtop.records import wire
from hangtop.records.ask import Ask, PageAsk
from hangtop.records.health import Rewind
from hangtop.records.log import PageReading
from hangtop.records.reading import Changed, Reading, Value

PIECE_BYTES = 512
"""Of a broken stream no more is lost than such a piece, the one with the break. A whole one is unpacked in larger ones."""
MANY_BYTES = 8 << 10


class RecordingError(Exception):
    """The file cannot be recorded to, or is no recording. The message is one line."""


def lines_of(data: bytes) -> Iterator[bytes]:
    """The lines of a recording; those of a broken stream up to where it breaks. Before the first stream lines may stand as they
    are: older recordings, and those in bundles, are not compressed."""
    return (line for _, line in placed_lines(data))


def placed_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The same lines, each with about how many bytes of the recording have been read by then."""
    plain, *streams = data.split(STREAM) if STREAM in data else (data,)
    place = 0
    for line in io.BytesIO(plain):
        place += len(line)
        yield place, line.rstrip(b"\r\n")
    for stream in streams:
        for at, line in _unpacked(STREAM + stream):
            yield place + at, line
        place += len(STREAM) + len(stream)


def _unpacked(stream: bytes) -> Iterator[tuple[int, bytes]]:
    unpacker, line = zlib.decompressobj(zlib.MAX_WBITS | 16), b""
    begin, many = 0, MANY_BYTES
    while begin < len(stream):
        before = unpacker.copy() if many > PIECE_BYTES else None
        try:
            pieces = unpacker.decompress(stream[begin : begin + many]).split(b"\n")
        except zlib.error:
            if before is None:
                break
            unpacker, many = before, PIECE_BYTES
            continue
        pieces[0] = line + pieces[0]
        *whole, line = pieces
        for nth, each in enumerate(whole, start=1):
            yield min(begin + many * nth // len(whole), len(stream)), each
        begin += many
    if line:
        yield len(stream), line


class Recording(Struct, frozen=True):
    """A recording in memory, as compressed as it is in its file. `times`: of its readings, in order. `torn`: number of lines
    that were cut short."""

    header: wire.Header
    times: tuple[float, ...]
    torn: int
    data: bytes

    def readings(self) -> Iterator[Reading | None]:
        """A reading for each of `times`; `None` for one that cannot be restored."""
        before: dict[Kind, Reading] = {}
        return (restored(reading, before) for reading in decoded(lines_of(self.data)) if reading is not None)


def load(path: Path) -> Recording:
    """Read a recording with its older parts. Torn lines are counted and left out. Raises `RecordingError` if the file is none."""
    try:
        data = read_parts(path)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    return recording_of(data, str(path))


def recording_of(data: bytes, name: str) -> Recording:
    """What the bytes of a recording hold. `name`: what they are called in `RecordingError`, which is raised if they are none."""
    if not data:
        raise RecordingError(f"{name}: the file is empty, not a recording")
    lines = lines_of(data)
    try:
        header = wire.decode_header(next(lines, b""))
    except wire.WireError as error:
        raise RecordingError(f"{name}: {error}") from error
    times: list[float] = []
    torn = 0
    for reading in decoded(lines):
        if reading is None:
            torn += 1
        else:
            times.append(max(reading.at, times[-1] if times else 0.0))
    if not times:
        raise RecordingError(f"{name}: the recording holds no reading")
    return Recording(header, tuple(times), torn, data)


def decoded(lines: Iterator[bytes]) -> Iterator[Reading | None]:
    """The readings; `None` for a line that is none. Headers are left out: each session begins with one."""
    for line in lines:
        try:
            yield wire.decode_reading(line)
        except wire.WireError:
            with contextlib.suppress(wire.WireError):
                wire.decode_header(line)
                continue
            yield None


Kind = tuple[str, str, str]
"""Source, host and kind of a reading."""


def restored(reading: Reading, before: dict[Kind, Reading]) -> Reading | None:
    """The reading itself, but for recordings of older hangtops: they tell what changed since the reading before of this kind.
    `None` if that one was lost."""
    value = reading.value
    kind = value.kind if isinstance(value, Changed) else str(type(value).__struct_config__.tag)
    key = reading.source, reading.host, kind
    if isinstance(value, Changed):
        known = before.get(key)
        if known is None or known.at != value.since:
            return None
        fields = _applied(msgspec.json.decode(msgspec.json.encode(known.value)), value.parts)
        restored: Value = msgspec.convert(fields, type(known.value))
        reading = replace(reading, value=restored)
    before[key] = reading
    return reading


def _applied(old: Any, part: Any) -> Any:
    """What a part of `Changed` makes of the old value."""
    if isinstance(part, list):
        return part[0]
    if isinstance(old, list):
        return [_applied(item, part[str(place)]) if str(place) in part else item for place, item in enumerate(old)]
    kept = {key: value for key, value in old.items() if key not in part}
    return kept | {key: _applied(old.get(key), value) for key, value in part.items() if value is not None}


class ReplayFeed:
    """Replays a recording. Its `now` is the clock of the session, for all that judges or paints.

    `ends`: the readings end with the recording. Otherwise they wait at its end for a seek.
    """

    def __init__(self, recording: Recording, speed: float = 1.0, *, ends: bool = False) -> None:
        self._recording = recording
        self._speed = speed
        self._ends = ends
        self._at = recording.times[0]
        self._since = time.monotonic()
        self._paused = False
        self._next = 0
        self._closed = False
        self._changed = asyncio.Event()
        self._answers: list[Reading] = []

    @property
    def data(self) -> bytes:
        """The bytes of the recording."""
        return self._recording.data

    @property
    def span(self) -> tuple[float, float]:
        return self._recording.times[0], self._recording.times[-1]

    @property
    def paused(self) -> bool:
        return self._paused

    def now(self) -> float:
        """Session time in unix seconds. It stops at the end of the recording, and waits for a reading that is due: at high speed
        a busy moment of this machine would look like a silence of the run."""
        times = self._recording.times
        return min(self._due(), times[min(self._next, len(times) - 1)])

    def _due(self) -> float:
        """The session time up to which readings should have been played."""
        if self._paused:
            return self._at
        return min(self._at + (time.monotonic() - self._since) * self._speed, self.span[1])

    def toggle_pause(self) -> None:
        self._move(self.now())
        self._paused = not self._paused

    def seek(self, at: float) -> None:
        """Go to a session time. Going back replays everything before it at once."""
        self._move(min(max(at, self.span[0]), self.span[1]))

    async def readings(self) -> AsyncIterator[Reading]:
        played = self._recording.readings()
        while not self._closed:
            reached = bisect.bisect_right(self._recording.times, self._due())
            if reached < self._next:
                self._next, played = 0, self._recording.readings()
                yield Reading("replay", "", self.span[0], Rewind())
            while self._next < reached:
                reading = next(played)
                self._next += 1
                if reading is not None:
                    yield reading
            while self._answers:
                yield self._answers.pop()
            if self._ends and self._next == len(self._recording.times):
                return
            await self._pause()

    def ask(self, ask: Ask) -> None:
        """Answers a `PageAsk` with a problem: a recording holds the newest lines, not the log."""
        if isinstance(ask, PageAsk):
            problem = "a recording holds only the newest lines of the log"
            self._answers.append(Reading("pages", "", self.now(), PageReading(ask.ask, at_start=True, problem=problem)))
            self._changed.set()

    def close(self) -> None:
        self._closed = True
        self._changed.set()

    def _move(self, at: float) -> None:
        self._at, self._since = at, time.monotonic()
        self._changed.set()

    async def _pause(self) -> None:
        """Wait until the next reading is due, or something was asked."""
        times = self._recording.times
        due_s = None
        if self._next < len(times) and not self._paused:
            due_s = max(0.001, (times[self._next] - self._due()) / self._speed)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(due_s):
                await self._changed.wait()
        self._changed.clear()
