"""Recordings: the readings of a session in a file, one JSON line each, and a feed that replays them."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import os
import select
import shlex
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

from msgspec import Struct

from hangtop import __version__
from hangtop.common import clock
from hangtop.common.reaper import reap_later
from hangtop.feeds.probe_feed import Feed
from hangtop.feeds.recording_delta import DeltaDecoder, DeltaEncoder
from hangtop.records import wire
from hangtop.records.ask import Ask, PageAsk
from hangtop.records.health import Rewind
from hangtop.records.log import PageReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.hangtop_child import start_hangtop

BACKLOG_BYTES = 64 * 1024 * 1024
"""At most this much waits for a slow disk. Further readings are left out of the recording: the screen must not wait."""
FLUSH_AT_EXIT_S = 0.15
READY_WITHIN_S = 10.0


class RecordingError(Exception):
    """The file cannot be recorded to, or is no recording. The message is one line."""


class Recorder:
    """Writes readings through a child process, since the disk of the file may hang."""

    def __init__(self, path: Path, spec: WatchSpec) -> None:
        self.child = start_hangtop("hangtop.feeds.recorder", str(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self._name = str(path)
        self._pipe = self.child.stdin.fileno()
        os.set_blocking(self._pipe, False)
        self._backlog = bytearray()
        self._thinner = DeltaEncoder()
        self.left_out = 0
        self.problem: str | None = None
        self._says = self.child.stdout
        answer = _first_line(self._says.fileno(), READY_WITHIN_S)
        if answer != b"ready\n":
            self.close()
            if answer:  # the child has said why not, and ends
                self.child.wait()
            raise RecordingError(answer.decode(errors="replace").strip() or f"cannot record to {path}: the disk does not answer")
        self._put(wire.encode(wire.Header(wire.SCHEMA, __version__, clock.now(), spec)))

    def write(self, reading: Reading) -> None:
        """Write a reading; never blocks. Pages of the log that the screen asked for are left out: they are not part of the
        run."""
        if not isinstance(reading.value, PageReading):
            self._put(wire.encode(self._thinner.thin(reading)))

    def close(self) -> None:
        """Give the last lines a moment to be written. The child ends when its pipe closes; on a dead disk it is left behind.

        Afterwards `problem` says why the recording is not complete: the disk is full, or too slow.
        """
        assert self.child.stdin is not None
        if self.child.stdin.closed:
            return
        deadline = time.monotonic() + FLUSH_AT_EXIT_S
        while self._backlog and (left_s := deadline - time.monotonic()) > 0:
            select.select((), (self._pipe,), (), left_s)
            self._put(b"")
        with contextlib.suppress(OSError):
            self.child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(max(0.0, deadline - time.monotonic()))
        with self._says as says:
            self.problem = _first_line(says.fileno(), 0.0).decode(errors="replace").strip() or None
        if self.problem is None and (self.left_out or self._backlog):
            self.problem = f"the recording lacks its last readings: {shlex.quote(self._name)}: the disk is too slow, or gone"
        reap_later(self.child)

    def _put(self, line: bytes) -> None:
        if len(self._backlog) > BACKLOG_BYTES:
            self.left_out += 1
            self._thinner.forget()
            return
        self._backlog += line
        try:
            del self._backlog[: os.write(self._pipe, self._backlog)]
        except BlockingIOError:
            return
        except OSError:
            self.left_out += 1
            self._backlog.clear()


class RecordedFeed:
    """A feed whose readings are recorded as they pass."""

    def __init__(self, feed: Feed, recorder: Recorder) -> None:
        self._feed = feed
        self._recorder = recorder

    async def readings(self) -> AsyncIterator[Reading]:
        async for reading in self._feed.readings():
            self._recorder.write(reading)
            yield reading

    def ask(self, ask: Ask) -> None:
        self._feed.ask(ask)

    def close(self) -> None:
        self._feed.close()
        self._recorder.close()


def _first_line(fd: int, within_s: float) -> bytes:
    ready, _, _ = select.select((fd,), (), (), within_s)
    return os.read(fd, 4096) if ready else b""


class Recording(Struct, frozen=True):
    """A recording in memory. `lines`: undecoded readings in the order of `times`; `torn`: number of lines that a kill cut
    short."""

    header: wire.Header
    times: tuple[float, ...]
    lines: tuple[bytes, ...]
    torn: int


def load(path: Path) -> Recording:
    """Read a recording. Torn lines are counted and left out. Raises `RecordingError` if the file is none."""
    try:
        raw = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    if not raw:
        raise RecordingError(f"{path}: the file is empty, not a recording")
    try:
        header = wire.decode_header(raw[0])
    except wire.WireError as error:
        raise RecordingError(f"{path}: {error}") from error
    times: list[float] = []
    lines: list[bytes] = []
    torn = 0
    for line in raw[1:]:
        try:
            times.append(max(wire.decode_reading(line).at, times[-1] if times else 0.0))
            lines.append(line)
        except wire.WireError:
            torn += not _is_header(line)
    if not lines:
        raise RecordingError(f"{path}: the recording holds no reading")
    return Recording(header, tuple(times), tuple(lines), torn)


def _is_header(line: bytes) -> bool:
    with contextlib.suppress(wire.WireError):
        wire.decode_header(line)
        return True
    return False


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
        filler = DeltaDecoder()
        while not self._closed:
            reached = bisect.bisect_right(self._recording.times, self._due())
            if reached < self._next:
                self._next, filler = 0, DeltaDecoder()
                yield Reading("replay", "", self.span[0], Rewind())
            while self._next < reached:
                reading = filler.whole(wire.decode_reading(self._recording.lines[self._next]))
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
            await asyncio.wait_for(self._changed.wait(), due_s)
        self._changed.clear()
