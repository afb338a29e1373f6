"""Tells a supervisor that the guard looks: a file that is touched at each look, or an address that answers over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import Verdict

STALE_S = 30.0
"""A guard that has not looked for so long is not well."""
REQUEST_S = 5.0
"""For a client that asks nothing."""
MOST_BYTES = 8192


class LivenessError(Exception):
    """It cannot be told; the message is one line."""


class Liveness:
    """`place`: a file, or `HOST:PORT`. The answer is given by the loop that looks, so a guard that is stuck gives none."""

    def __init__(self, place: str) -> None:
        host, _, port = place.rpartition(":")
        self._place, self._port = place, int(port) if port.isdecimal() and "/" not in host else None
        self._host = host or "127.0.0.1"
        self._looked_at = time.monotonic()
        self._problem = ""

    def look(self, _: Snapshot, __: Verdict) -> None:
        """The guard has looked."""
        self._looked_at = time.monotonic()
        if self._port is None:
            with contextlib.suppress(OSError):  # a file that is not touched is the sign
                _touch(self._place)

    async def serve(self) -> None:
        """Begin to answer, if it is an address. Raises `LivenessError`."""
        try:
            if self._port is None:
                _touch(self._place)
            else:
                await asyncio.start_server(self._answer, self._host, self._port, limit=MOST_BYTES)
        except (OSError, OverflowError) as error:
            raise LivenessError(f"--alive {self._place}: {getattr(error, 'strerror', None) or error}") from error

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Any request gets the same answer: 200 while the guard looks, else 503."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            async with asyncio.timeout(REQUEST_S):
                await reader.readuntil(b"\r\n\r\n")
            late_s = time.monotonic() - self._looked_at
            status = "200 OK" if late_s < STALE_S else "503 Service Unavailable"
            body = f"looked {late_s:.0f} s ago\n"
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
            await writer.drain()
        writer.close()


def _touch(place: str) -> None:
    Path(place).touch()
