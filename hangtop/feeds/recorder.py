"""The recorder process: appends the lines of its stdin to a recording. On a dead disk it hangs alone."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import aiofiles

from hangtop.records import wire


async def record(path: Path) -> None:
    """Append whole lines as they come. A line that an earlier kill cut short is ended first, so that only it is lost."""
    async with aiofiles.open(path, "ab") as file:
        if await _is_torn(path):
            await file.write(b"\n")
        os.write(sys.stdout.fileno(), b"ready\n")
        async for line in aiofiles.stdin_bytes:
            await file.write(line)
            await file.flush()


async def _is_torn(path: Path) -> bool:
    async with aiofiles.open(path, "rb") as file:
        if await file.seek(0, os.SEEK_END) == 0:
            return False
        await file.seek(-1, os.SEEK_END)
        return await file.read(1) != b"\n"


def refusal(path: Path) -> str | None:
    """Why this file must not be written: it exists and is no recording. `None` if it may."""
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return None
    if not path.is_file():
        return f"cannot record to {path}: it is not a regular file"
    with path.open("rb") as file:
        try:
            wire.decode_header(file.readline())
        except wire.WireError:
            return f"cannot record to {path}: it exists and is not a hangtop recording; choose another name"
    return None


def main() -> None:
    path = Path(sys.argv[1])
    try:
        if (problem := refusal(path)) is None:
            asyncio.run(record(path))
            return
    except OSError as error:
        problem = f"cannot record to {path}: {error.strerror}"
    os.write(sys.stdout.fileno(), problem.encode() + b"\n")


if __name__ == "__main__":
    main()
