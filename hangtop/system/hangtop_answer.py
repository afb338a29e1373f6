"""What a command of hangtop prints, for who asks while others go on."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Callable

from hangtop.system.hangtop_child import hangtop_command

REAP_S = 0.2
"""A child that is told to end is gone within this time, unless the kernel holds it: nobody who quits waits longer."""


async def ended(process: asyncio.subprocess.Process, tell: Callable[[], None]) -> None:
    """`tell` lets our child end, if it has not: it was not reaped, so its pid is no other's. One that is stuck in the kernel
    is not waited for."""
    if process.returncode is None:
        tell()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REAP_S):
                await process.wait()


async def printed_by(*words: str, limit_s: float, stderr: int = subprocess.DEVNULL) -> bytes:
    """What `hangtop WORDS` prints, whatever its exit code. Its process ends with the question. Raises `TimeoutError`."""
    process = await asyncio.create_subprocess_exec(
        *hangtop_command("hangtop", *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(limit_s):
            return (await process.communicate())[0]
    finally:
        await ended(process, process.terminate)
