"""Recordings: the readings of a session in a file, one JSON line each, compressed as one stream.

After each reading the stream is flushed: what a kill leaves of it can be read.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shlex
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

from hangtop import __version__
from hangtop.common import clock
from hangtop.common.reaper import reap_later
from hangtop.feeds.probe_feed import Feed
from hangtop.feeds.replay import RecordingError
from hangtop.feeds.troubled import with_trouble
from hangtop.records import wire
from hangtop.records.ask import Ask
from hangtop.records.log import PageReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.hangtop_child import start_hangtop

BACKLOG_BYTES = 64 * 1024 * 1024
"""At most this much waits for a slow disk. Further readings are left out of the recording: the screen must not wait."""
PIPE_BYTES = 1 << 20
FLUSH_AT_EXIT_S = 0.15
READY_WITHIN_S = 10.0


class Recorder:
    """Writes readings through a child process, since the disk of the file may hang."""

    def __init__(self, path: Path, spec: WatchSpec) -> None:
        self.child = start_hangtop("hangtop.feeds.recorder", str(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self._name = str(path)
        self._pipe = self.child.stdin.fileno()
        os.set_blocking(self._pipe, False)
        with contextlib.suppress(OSError, AttributeError):  # more than a user may have; not Linux
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._backlog = bytearray()
        self.left_out = 0
        self.problem: str | None = None
        self._says = self.child.stdout
        answer = _first_line(self._says.fileno(), READY_WITHIN_S)
        if answer != b"ready\n":
            self.close()
            if answer:  # the child has said why not, and ends
                self.child.wait()
            raise RecordingError(answer.decode(errors="replace").strip() or f"cannot record to {path}: the disk does not answer")
        self._record(wire.Header(wire.SCHEMA, __version__, clock.now(), spec))

    def write(self, reading: Reading) -> None:
        """Write a reading; never blocks. Pages of the log that the screen asked for are left out: they are not part of the
        run."""
        if not isinstance(reading.value, PageReading):
            self._record(reading)

    def trouble(self) -> str | None:
        """Why the recording does not go on, if it does not: its disk is full, gone or too slow."""
        if self.problem is None and not self._says.closed and (said := _first_line(self._says.fileno(), 0.0)):
            self.problem = said.decode(errors="replace").strip()
        if self.problem is None and self.left_out:
            return f"{self.left_out} readings are not in the recording: its disk is too slow, or gone"
        return self.problem

    def close(self) -> None:
        """Give the last lines a moment to be written. The child ends when its pipe closes; on a dead disk it is left behind.

        Afterwards `problem` says why the recording is not complete: the disk is full, or too slow.
        """
        assert self.child.stdin is not None
        if self.child.stdin.closed:
            return
        deadline = time.monotonic() + FLUSH_AT_EXIT_S
        self._put(b"")
        while self._backlog and (left_s := deadline - time.monotonic()) > 0:
            select.select((), (self._pipe,), (), left_s)
            self._put(b"")
        with contextlib.suppress(OSError):
            self.child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(max(0.0, deadline - time.monotonic()))
        with self._says as says:
            self.problem = self.problem or _first_line(says.fileno(), 0.0).decode(errors="replace").strip() or None
        if self.problem is None and (self.left_out or self._backlog):
            self.problem = f"the recording lacks its last readings: {shlex.quote(self._name)}: the disk is too slow, or gone"
        reap_later(self.child)

    def _record(self, record: Reading | wire.Header) -> None:
        if len(self._backlog) > BACKLOG_BYTES:
            self.left_out += 1
        else:
            self._put(wire.encode(record))

    def _put(self, data: bytes) -> None:
        self._backlog += data
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
            yield with_trouble(reading, "record", self._recorder.trouble)

    def ask(self, ask: Ask) -> None:
        self._feed.ask(ask)

    def close(self) -> None:
        self._feed.close()
        self._recorder.close()


def _first_line(fd: int, within_s: float) -> bytes:
    ready, _, _ = select.select((fd,), (), (), within_s)
    return os.read(fd, 4096) if ready else b""
