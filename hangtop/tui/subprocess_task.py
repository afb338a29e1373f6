"""A command of hangtop in a process of its own, its lines as steps: for what takes long and changes nothing of the run."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from hangtop.actions.execute.steps import step
from hangtop.records.plan import Step
from hangtop.system.hangtop_child import hangtop_command


async def run_task(words: Sequence[str]) -> AsyncIterator[Step]:
    """`hangtop WORDS`, line by line; the last step says whether it went well."""
    process = await asyncio.create_subprocess_exec(
        *hangtop_command("hangtop", *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    yield step("doing", f"hangtop {words[0]} …")
    async for line in process.stdout:
        if said := line.decode(errors="replace").strip():
            yield step("done", said)
    if (code := await process.wait()) != 0:
        yield step("failed", f"hangtop {words[0]} ended with exit code {code}")


WRITE = 'umask 077; cat > "$1"'
WRITE_LIMIT_S = 10.0


async def written(path: Path, text: str) -> str:
    """Write a file in a process of its own: a dead file system must not hold the screen. Gives what went wrong, or nothing."""
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        WRITE,
        "sh",
        str(path),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, said = await asyncio.wait_for(process.communicate(text.encode()), WRITE_LIMIT_S)
    except TimeoutError:
        return f"not saved: {path.parent} does not answer"
    return "" if process.returncode == 0 else f"not saved: {said.decode(errors='replace').strip()}"
