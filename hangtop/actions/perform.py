"""Start the performer of a plan and follow its steps. Nothing here blocks; what was begun goes on without us."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from typing import IO

import msgspec

from hangtop import clock
from hangtop.actions.journal import path as journal_path
from hangtop.actions.stop import Myself
from hangtop.records.plan import Plan, Step

LINE_LIMIT_BYTES = 1024 * 1024
REAP_LOOKS, REAP_PAUSE_S = 200, 0.01

_step = msgspec.json.Decoder(Step)
_begun: list[subprocess.Popen[bytes]] = []
"""Performers that still work. Python's asyncio would kill a child whose transport is closed; these must outlive the screen."""


async def perform(plan: Plan) -> AsyncIterator[Step]:
    """The steps as they happen. The performer has its own session: neither a closed terminal nor our end stops it halfway."""
    process, output = _begin(plan)
    failed = False
    lines, transport = await _line_reader(output)
    try:
        async for line in lines:
            step = _step.decode(line)
            failed = failed or step.kind == "failed"
            yield step
    finally:
        transport.close()
    if await _ended(process) != 0 and not failed:
        said = f"the performer broke off (exit code {process.returncode}); what it had done is in {journal_path()}"
        yield Step(clock.now(), "failed", said)


def _begin(plan: Plan) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """The plan goes through a file without a name: a pipe could fill up and hold us."""
    with tempfile.TemporaryFile() as told:
        told.write(msgspec.json.encode(plan))
        told.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", "hangtop.actions.performer"],
            stdin=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    assert process.stdout is not None
    _begun[:] = [other for other in _begun if other.poll() is None]
    _begun.append(process)
    return process, process.stdout


async def _line_reader(output: IO[bytes]) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), output)
    return reader, transport


async def _ended(process: subprocess.Popen[bytes]) -> int | None:
    """Its exit code, soon after its output has ended."""
    for _ in range(REAP_LOOKS):
        if process.poll() is not None:
            break
        await asyncio.sleep(REAP_PAUSE_S)
    return process.returncode


def myself() -> Myself:
    """Who asks: this process, the chain above it, the user and the machine."""
    import psutil

    above = frozenset(parent.pid for parent in psutil.Process().parents())
    return Myself(os.getpid(), above, os.geteuid(), socket.gethostname())
