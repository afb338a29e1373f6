"""A pipe kept: what comes through it is read at once, so that its writer never waits for us, and its end stays readable."""

from __future__ import annotations

import os
import select
import tempfile
import threading
from collections.abc import Iterator

from hangtop import clock
from hangtop.records.log import FileStatus
from hangtop.sources.faults import Fault, in_words
from hangtop.sources.tail import CHUNK_BYTES, CHUNKS_A_POLL, Appended, Event, Opened

KEPT_BYTES = 64 << 20
LEAD_BYTES = 48 << 20


class Spool:
    """The last `KEPT_BYTES` of a pipe in an unlinked temporary file, used as a ring. A thread of its own fills it.

    Bytes are numbered from the first that came. Only a reader that lags by `LEAD_BYTES` makes the pipe wait: nothing is lost.
    `forever`: a named pipe, which outlives its writers.
    """

    def __init__(self, fd: int, *, forever: bool = False) -> None:
        self.end = 0
        self.closed = False
        self.fault: Fault | None = None
        self.arrived_at: float | None = None
        self._fd = fd
        self._forever = forever
        self._read_to = 0
        self._stop = threading.Event()
        self._ring = tempfile.TemporaryFile(prefix="hangtop-", buffering=0)  # noqa: SIM115 - it lives as long as the spool
        self._thread = threading.Thread(target=self._fill, name="log pipe", daemon=True)
        self._thread.start()

    @property
    def start(self) -> int:
        """The oldest byte that is still kept. A chunk is spared that may be overwritten while somebody reads it."""
        return max(0, self.end - KEPT_BYTES + CHUNK_BYTES)

    def pread(self, count: int, offset: int) -> bytes:
        """Up to `count` bytes from `offset` on; nothing where they are kept no longer or not there yet."""
        count = min(count, self.end - offset)
        if count <= 0 or offset < self.start:
            return b""
        at = offset % KEPT_BYTES
        data = os.pread(self._ring.fileno(), min(count, KEPT_BYTES - at), at)
        return data + os.pread(self._ring.fileno(), count - len(data), 0) if len(data) < count else data

    def read_to(self, offset: int) -> None:
        """The reader is done with everything before `offset`."""
        self._read_to = offset

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=1.0)
        self._ring.close()

    def _fill(self) -> None:
        ready = select.poll()
        ready.register(self._fd, select.POLLIN)
        try:
            while not self._stop.is_set():
                if self.end - self._read_to > LEAD_BYTES:
                    self._stop.wait(0.01)
                elif ready.poll(200) and not self._take():
                    if not self._forever:
                        break
                    self._stop.wait(0.1)
        except OSError as error:
            self.fault = in_words(tempfile.gettempdir(), error)
        self.closed = True

    def _take(self) -> bool:
        data = os.read(self._fd, CHUNK_BYTES)
        at = self.end % KEPT_BYTES
        before_wrap = data[: KEPT_BYTES - at]
        os.pwrite(self._ring.fileno(), before_wrap, at)
        if len(before_wrap) < len(data):
            os.pwrite(self._ring.fileno(), data[len(before_wrap) :], 0)
        if data:
            self.arrived_at = clock.now()
            self.end += len(data)
        return bool(data)


class FollowedPipe:
    """A spool, followed like a file (`hangtop.sources.tail.Followed`)."""

    def __init__(self, path: str, spool: Spool) -> None:
        self.path = path
        self.spool = spool
        self.status: FileStatus = "ok"
        self.problem: str | None = None
        self.offset = 0
        self._opened = False

    @property
    def size_bytes(self) -> int:
        return self.spool.end

    @property
    def modified_at(self) -> float | None:
        return self.spool.arrived_at

    def poll(self, now: float) -> Iterator[Event]:
        if not self._opened:
            self._opened = True
            yield Opened("first", 0)
        for _ in range(CHUNKS_A_POLL):
            data = self.spool.pread(CHUNK_BYTES, self.offset)
            if not data:
                break
            at = self.offset
            self.offset += len(data)
            self.spool.read_to(self.offset)
            yield Appended(at, data, live=True)
        if self.spool.closed and self.offset == self.spool.end and self.problem is None:
            fault = self.spool.fault or Fault("closed", f"{self.path}: its writer closed the pipe: nothing more will come")
            self.status, self.problem = fault.status, fault.problem
            yield fault

    def pread(self, count: int, offset: int) -> bytes:
        return self.spool.pread(count, offset)

    def close(self) -> None:
        self.spool.close()
