"""Lines for a reader that may be slow, gone or out of space: nothing here waits for it, and its absence ends nothing."""

from __future__ import annotations

import os
import select
import time
from collections import deque

MOST_KEPT = 10_000
"""Lines that wait for the reader; then the oldest go, and are counted."""
CHUNK_BYTES = 4096
"""A pipe that can be written to takes so much at once: POSIX's PIPE_BUF."""
PAUSE_S = 0.05


class LinesOut:
    """Writes lines to a file descriptor whose other end nobody vouches for."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting: deque[bytes] = deque()
        self._is_cut = False
        self.problem = ""
        """Why the last write failed, or what it waits for; empty when all is written."""
        self.lost = 0
        """Lines that no reader will ever see."""

    def put(self, line: str) -> None:
        """Write this line now, or as soon as the reader takes it."""
        self._waiting.append(line.encode("utf-8", "replace") + b"\n")
        self.flush()
        while len(self._waiting) > MOST_KEPT:
            del self._waiting[1 if self._is_cut else 0]
            self.lost += 1

    def flush(self) -> bool:
        """Write what waits. Whether nothing waits any more."""
        while self._waiting:
            line = self._waiting[0]
            written = self._write(line)
            if written < len(line):
                self._waiting[0], self._is_cut = line[written:], self._is_cut or written > 0
                return False
            self._waiting.popleft()
            self._is_cut = False
        self.problem = ""
        return True

    def end(self, within_s: float) -> bool:
        """Write the rest; a reader that takes nothing is not waited for longer than this."""
        until = time.monotonic() + within_s
        while not self.flush():
            if time.monotonic() > until:
                return False
            time.sleep(PAUSE_S)
        return True

    def _write(self, line: bytes) -> int:
        written = 0
        while written < len(line):
            try:
                if not select.select((), (self._fd,), (), 0)[1]:
                    self.problem = "its reader takes nothing"
                    break
                written += os.write(self._fd, line[written : written + CHUNK_BYTES])
            except (OSError, ValueError) as error:  # a full disk, a reader that is gone, a terminal that was closed
                self.problem = getattr(error, "strerror", None) or str(error)
                break
        return written
