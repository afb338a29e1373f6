"""The output of a run that the guard started, on the guard's own stdout: in a script it looks as it did without a guard."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from pathlib import Path

CHUNK_BYTES = 4096
"""A pipe that can be written to takes so much at once."""
PAUSE_S = 0.1


class Echo:
    """Copies what is added to `log` from now on to `fd`. A slow reader is waited for, and holds up nobody but this copy."""

    def __init__(self, log: Path, fd: int) -> None:
        self._log, self._fd = log, fd
        self._at = log.stat().st_size if log.exists() else 0
        self._left = b""
        self._is_gone = _is_same(log, fd)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            self.copy()
            await asyncio.sleep(PAUSE_S)

    def copy(self) -> bool:
        """Copy what the reader takes now. Whether nothing is left to copy."""
        while not self._is_gone:
            if not self._left:
                with contextlib.suppress(OSError), self._log.open("rb") as file:  # it may not be there yet, or any more
                    file.seek(self._at)
                    self._left = file.read(CHUNK_BYTES)
                if not self._left:
                    return True
                self._at += len(self._left)
            try:
                if not select.select((), (self._fd,), (), 0)[1]:
                    return False
                self._left = self._left[os.write(self._fd, self._left) :]
            except (OSError, ValueError):  # the reader is gone, or a disk is full: the log holds it all
                self._is_gone = True
        return True

    async def finish(self, within_s: float) -> None:
        """Copy the rest, as long as the reader takes it."""
        for _ in range(round(within_s / PAUSE_S)):
            if self.copy():
                return
            await asyncio.sleep(PAUSE_S)


def _is_same(log: Path, fd: int) -> bool:
    """Whether both are one file: to copy it would never end."""
    with contextlib.suppress(OSError):
        return os.path.samestat(log.stat(), os.fstat(fd))
    return False
