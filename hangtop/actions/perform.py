"""Start the performer of a plan and follow its steps. Nothing here blocks; what was begun goes on without us."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator

import msgspec

from hangtop.actions.stop import Myself
from hangtop.records.plan import Plan, Step

_step = msgspec.json.Decoder(Step)


async def perform(plan: Plan) -> AsyncIterator[Step]:
    """The steps as they happen. The performer has its own session: neither a closed terminal nor our end stops it halfway."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "hangtop.actions.performer",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(msgspec.json.encode(plan))
    process.stdin.close()
    async for line in process.stdout:
        yield _step.decode(line)
    if await process.wait() != 0:
        why = (await process.stderr.read()).decode(errors="replace").strip().splitlines()
        yield Step(0.0, "failed", why[-1] if why else "the action could not be carried out")


def myself() -> Myself:
    """Who asks: this process, the chain above it, and the user."""
    import psutil

    return Myself(os.getpid(), frozenset(parent.pid for parent in psutil.Process().parents()), os.geteuid())
