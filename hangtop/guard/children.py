"""The programs that a guard runs, each in a session of its own: commands of hangtop, and hooks."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence

from hangtop.common.clean_words import clean_words
from hangtop.common.secrets.redactor import Redactor
from hangtop.guard.case import CALLED_OFF, LIMIT_S, Case, Outcome
from hangtop.guard.episodes import Course
from hangtop.guard.policy import Deed
from hangtop.records.stopped import AWAITS_GUARD, FOR_GUARD
from hangtop.records.watch_spec import as_options
from hangtop.system.hangtop_child import hangtop_command

LAST_LINES = 3
CHUNK_BYTES = 65_536
REAP_S = 2.0


async def child(deed: Deed, words: Sequence[str], told: bytes = b"") -> tuple[int, bytes]:
    """Exit code and output of a program in a session of its own; it ends with whoever waits for it here. Raises `OSError`,
    `TimeoutError`."""
    process = await _started(words)
    try:
        async with asyncio.timeout(LIMIT_S[deed]):
            output, _ = await process.communicate(told)
    finally:
        if process.returncode is None:
            await _end(process)
    return process.returncode or 0, output


async def _started(words: Sequence[str], environ: Mapping[str, str] | None = None) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *words,
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Our own child, which was not reaped: its pid is no other's. One that is stuck in the kernel is not waited for."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(REAP_S):
            await process.wait()


async def harm(deed: Deed, command: str, case: Case, course: Course | None = None) -> Outcome:
    """Carry out the command that ends processes. It says its plan, and waits for a word: until then it has ended nothing, is
    called off if the run goes on, and ends with the guard; what is under way after that is not broken off halfway."""
    words = hangtop_command("hangtop", command, *as_options(case.spec), "--yes")
    process = await _started(words, {**os.environ, FOR_GUARD: deed})
    plans, goes_on = asyncio.create_task(_plan_of(process)), asyncio.create_task(case.called_off.wait())
    try:
        async with asyncio.timeout(LIMIT_S[deed]):
            await asyncio.wait((plans, goes_on), return_when=asyncio.FIRST_COMPLETED)
            if case.called_off.is_set():
                await _end(process)
                return CALLED_OFF
            plan, waits = plans.result()
            if waits and (why := case.not_begun(course)) is not None:
                await _end(process)
                return why
            output = plan + (await process.communicate(b"begin\n" if waits else b""))[0]
    except TimeoutError:
        await _end(process)
        raise
    finally:
        plans.cancel()
        goes_on.cancel()
    refused = not waits and process.returncode != 0
    return Outcome(process.returncode == 0, last_lines(output), nothing=refused or process.returncode == 2)


async def _plan_of(process: asyncio.subprocess.Process) -> tuple[bytes, bool]:
    """What the command says before it changes anything, and whether it waits then; else it has ended, for there is nothing to
    do, or a reason not to."""
    assert process.stdout is not None
    said = b""
    while more := await process.stdout.read(CHUNK_BYTES):
        said += more
        if f"{AWAITS_GUARD}\n".encode() in said:
            return said.replace(f"{AWAITS_GUARD}\n".encode(), b""), True
    return said, False


def last_lines(output: bytes) -> str:
    """The last lines that a command said, without the secrets that a hook may print."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return Redactor().text(clean_words(" · ".join(lines[-LAST_LINES:])))
