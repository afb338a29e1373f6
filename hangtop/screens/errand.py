"""A command of hangtop in a process of its own, its lines as steps: for what takes long and changes nothing of the run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence

from hangtop.actions.steps import step
from hangtop.records.plan import Step


async def errand(words: Sequence[str]) -> AsyncIterator[Step]:
    """`hangtop WORDS`, line by line; the last step says whether it went well."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "hangtop",
        *words,
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
