"""The recorder process: appends what comes on its stdin to a recording. On a dead disk it hangs alone."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
from pathlib import Path

import aiofiles

from hangtop.feeds.replay import lines_of
from hangtop.records import wire

CHUNK_BYTES = 1 << 16
HEADER_BYTES = 4 << 20
"""Within so many bytes the first line of a recording ends."""


async def record(path: Path) -> str | None:
    """Append to the file, which is for one hangtop at a time: two streams in it would break each other. Returns why it cannot."""
    async with aiofiles.open(path, "ab") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return f"cannot record to {path}: another hangtop records to it; choose another name"
        except OSError:  # a file system without locks
            pass
        os.write(sys.stdout.fileno(), b"ready\n")
        while data := await aiofiles.stdin_bytes.read1(CHUNK_BYTES):
            await file.write(data)
            await file.flush()
    return None


def refusal(path: Path) -> str | None:
    """Why this file must not be written: it exists and is no recording. `None` if it may."""
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return None
    if not path.is_file():
        return f"cannot record to {path}: it is not a regular file"
    with path.open("rb") as file:
        try:
            wire.decode_header(next(lines_of(file.read(HEADER_BYTES)), b""))
        except wire.WireError:
            return f"cannot record to {path}: it exists and is not a hangtop recording; choose another name"
    return None


def main() -> None:
    path = Path(sys.argv[1])
    try:
        problem = refusal(path) or asyncio.run(record(path))
    except OSError as error:
        problem = f"cannot record to {path}: {error.strerror}"
    if problem is not None:
        os.write(sys.stdout.fileno(), problem.encode() + b"\n")


if __name__ == "__main__":
    main()
