"""The output of a worker on another node, followed like a file: its end first, then new bytes, part by part."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.probe.log.tail import Appended, Event, Opened
from hangtop.probe.ray.dashboard.node_logs import LogPart, NodeLogs, WorkerPlace
from hangtop.records.log import FileStatus

KEPT_BYTES = 32 << 10
SOON_S, LATE_S = 4.0, 60.0
"""Pause after a file grew; it doubles each time that the file did not, up to the second."""
THROUGH_HEAD_S = 16.0
"""Least pause through the dashboard: the head has work with each request and sends all lines again."""
OVERLAP_BYTES = 256


class RemoteLog:
    """The last bytes of one output file, numbered from the first byte read, not as in the file. Followed like a file
    (`hangtop.probe.log.tail.Followed`).

    One thread fetches, another follows: the bytes are replaced as a whole.
    """

    not_kept: str | None = None
    drain: int | None = None

    def __init__(self, place: WorkerPlace, stream: str, logs: NodeLogs) -> None:
        self.place = place
        self.path = place.path(stream)
        self.offset = 0
        self.modified_at: float | None = None
        self.problem: str | None = None
        self.due_at = 0.0
        self.first_bytes: int | None = None
        """How many bytes were there at the first fetch."""
        self._logs, self._stream = logs, stream
        self._opened = False
        self._kept: tuple[int, bytes] = (0, b"")
        self._next: int | None = None
        self._pause_s = SOON_S

    @property
    def start(self) -> int:
        return self._kept[0]

    @property
    def end(self) -> int:
        start, data = self._kept
        return start + len(data)

    size_bytes = end

    @property
    def buffer(self) -> RemoteLog:
        return self

    @property
    def status(self) -> FileStatus:
        return "ok" if self.first_bytes is not None else "failed" if self.problem else "waiting"

    def pread(self, count: int, offset: int) -> bytes:
        """Up to `count` bytes from `offset` on; empty when they are dropped or not there yet."""
        start, data = self._kept
        return data[offset - start : offset - start + count] if offset >= start else b""

    def poll(self, now: float) -> Iterator[Event]:
        """What was fetched since the last poll; what was there at the first fetch is not live."""
        if self.first_bytes is None:
            return
        if not self._opened:
            self._opened = True
            yield Opened("first", 0)
        at = max(self.offset, self.start)
        if data := self.pread(KEPT_BYTES, at):
            self.offset = at + len(data)
            yield Appended(at, data, live=at >= self.first_bytes)

    def close(self) -> None:
        """Whoever follows it next begins anew. The connections belong to the cluster."""
        self.offset, self._opened = 0, False

    def fetch(self, now: float) -> None:
        """Read new bytes. If more came than fits in one part, the newest part is read next and the gap is left out."""
        part = self._logs.read(self.place, self._stream, self._next)
        self.problem = part.problem or None
        grown = self._take(part, now)
        soon_s = THROUGH_HEAD_S if part.first is None and not part.problem else SOON_S
        self._pause_s = soon_s if grown else min(LATE_S, 2 * self._pause_s)
        behind = part.size is not None and self._next is not None and self._next < part.size
        self.due_at = now if behind else now + self._pause_s
        if part.size is not None and self._next != part.size:  # behind, or the file was cut
            self._next = None
        if not part.problem and self.first_bytes is None:
            self.first_bytes = self.end

    def _take(self, part: LogPart, now: float) -> bool:
        data = self._beyond(part.data) if part.first is None else self._next_bytes(part.first, part.data)
        if part.age_s is not None:
            self.modified_at = now - part.age_s
        elif data:
            self.modified_at = now
        if data:
            start, kept = self._kept
            both = kept + data
            cut = max(0, len(both) - KEPT_BYTES)
            self._kept = (start + cut, both[cut:])
        return bool(data)

    def _next_bytes(self, first: int, data: bytes) -> bytes:
        """The bytes to keep. After a gap the part begins inside a line, which is left out, and starts a new line."""
        gap, self._next = first != self._next, first + len(data)
        if gap and first:
            data = data[max(data.find(b"\n"), data.find(b"\r") if b"\n" not in data else -1) + 1 :]
        return b"\n" + data if gap and data and self.end else data

    def _beyond(self, lines: bytes) -> bytes:
        """The new ones among the last lines."""
        known = self._kept[1][-OVERLAP_BYTES:]
        at = lines.rfind(known) if known else -1
        return lines[at + len(known) :] if at >= 0 else lines
