"""A pipe followed like a file: what its drain keeps of it (`hangtop.probe.log.drain`), the last bytes that came."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

from hangtop.common.text import size
from hangtop.probe.log.drain import BOARD_BYTES, KEPT_BYTES
from hangtop.probe.log.start_drain import Drain, DrainBoard, read_board
from hangtop.probe.log.tail import CHUNK_BYTES, CHUNKS_A_POLL, Appended, Event, Opened, Skipped
from hangtop.probe.source import SourceError
from hangtop.records.log import FileStatus
from hangtop.system.files.read_errors import ReadError, in_words

CATCH_UP_BYTES = 8 << 20
"""How far before the end reading goes on after a gap: older bytes would be overwritten before they are read."""


class FollowedPipe:
    """A pipe, followed like a file (`hangtop.probe.log.tail.Followed`). Its bytes are numbered from the first one kept; any of
    them may be overwritten at any time."""

    def __init__(self, path: str, memory: int, drain: Drain | None = None) -> None:
        """`memory`: the open file that the drain fills. `drain`: the drain, where we started it ourselves."""
        self.path = path
        self.status: FileStatus = "ok"
        self.problem: str | None = None
        self.offset = 0
        self.skipped_bytes = 0
        self._memory = memory
        self._drain = drain
        self._board = DrainBoard(0, 0, 0, 0, 0)
        self._opened = False
        self._unkept = 0
        self._reader = ReaderWatch()

    @classmethod
    def named(cls, path: str) -> FollowedPipe:
        """Start a drain for a named pipe. Raises `SourceError`."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            with os.fdopen(fd, "rb", buffering=0):
                drain = Drain(fd, named=True)
        except OSError as error:
            raise SourceError(in_words(path, error).problem) from error
        return cls(path, drain.memory, drain)

    @property
    def buffer(self) -> FollowedPipe:
        """What is kept of a log that cannot be opened again."""
        return self

    @property
    def board(self) -> DrainBoard:
        """The board now, or the last one known once the memory was given back."""
        self._board = read_board(self._memory) or self._board
        return self._board

    @property
    def drain(self) -> int | None:
        """The pid that goes on reading a named pipe when hangtop has gone; `hangtop.probe.log.stdin_pipe` tells that of stdin."""
        return (self.board.reader or None) if self._drain is not None else None

    @property
    def end(self) -> int:
        return self.board.end

    size_bytes = end

    @property
    def start(self) -> int:
        """The oldest byte that is still kept, without the chunk that is being overwritten."""
        return max(0, self.end - KEPT_BYTES + CHUNK_BYTES)

    @property
    def modified_at(self) -> float | None:
        return self.board.arrived_us / 1e6 or None

    @property
    def not_kept(self) -> str | None:
        """How much of the pipe was lost, and why."""
        if unkept := self.board.unkept:
            return f"{size(unkept + self.skipped_bytes)} not kept: no memory for it"
        return f"{size(self.skipped_bytes)} not kept: it came faster than it was read" if self.skipped_bytes else None

    def poll(self, now: float) -> Iterator[Event]:
        if not self._opened:
            self._opened = True
            yield Opened("first", 0)
        board = self.board
        if board.unkept > self._unkept:
            self._unkept = board.unkept
            yield Skipped(self.offset)
        for _ in range(CHUNKS_A_POLL):
            data = self.pread(CHUNK_BYTES, self.offset)
            if data:
                at = self.offset
                self.offset += len(data)
                yield Appended(at, data, live=True)
            elif self.offset < self.start:
                yield self._skip()
            else:
                break
        if (board.closed or self._reader.is_gone(board, now)) and self.offset == self.end and self.problem is None:
            if board.closed:
                fault = ReadError("closed", f"{self.path}: its writer closed the pipe: nothing more will come")
            else:
                said = "hangtop's readers of the pipe were killed: what the run writes comes no more"
                fault = ReadError("failed", f"{self.path}: {said}")
            self.status, self.problem = fault.status, fault.problem
            yield fault

    def pread(self, count: int, offset: int) -> bytes:
        """Up to `count` bytes from `offset` on; empty when they are overwritten or not there yet."""
        count = min(count, self.end - offset)
        if count <= 0 or offset < self.start:
            return b""
        at = offset % KEPT_BYTES
        data = os.pread(self._memory, min(count, KEPT_BYTES - at), BOARD_BYTES + at)
        if len(data) < count:
            data += os.pread(self._memory, count - len(data), BOARD_BYTES)
        return data if offset >= self.start else b""  # the drain does not wait: it may have come round meanwhile

    def close(self) -> None:
        if self._drain is not None:
            self._drain.close()

    def _skip(self) -> Skipped:
        """Skip what was overwritten, and go on at the start of a line."""
        goes_on = max(self.start, self.end - CATCH_UP_BYTES)
        goes_on += self.pread(CHUNK_BYTES, goes_on).find(b"\n") + 1
        self.skipped_bytes += goes_on - self.offset
        self.offset = goes_on
        return Skipped(goes_on)


class ReaderWatch:
    """Whether the pipe still has a reader. One that is killed is replaced within milliseconds."""

    REPLACED_S = 3.0

    def __init__(self) -> None:
        self._pid = 0
        self._fd: int | None = None
        self._ended = select.poll()
        self._was_gone = False
        self._gone_at: float | None = None

    def is_gone(self, board: DrainBoard, now: float) -> bool:
        """Whether the reader named on the board has ended and was not replaced."""
        if board.reader != self._pid:
            self._watch_pid(board.reader)
        gone = self._was_gone or bool(self._ended.poll(0))
        self._gone_at = (now if self._gone_at is None else self._gone_at) if gone else None
        return self._gone_at is not None and now - self._gone_at > self.REPLACED_S

    def _watch_pid(self, pid: int) -> None:
        if self._fd is not None:
            os.close(self._fd)
        self._pid, self._fd, self._ended, self._was_gone = pid, None, select.poll(), False
        try:
            self._fd = os.pidfd_open(pid)
            self._ended.register(self._fd, select.POLLIN)
        except ProcessLookupError:
            self._was_gone = True
        except (OSError, AttributeError):  # an old kernel or no Linux: then it counts as living
            return
