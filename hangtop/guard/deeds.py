"""What a guard does: each deed is a command of hangtop in a process of its own, which looks afresh, plans and proves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from hangtop.actions.execute.client import RunningPlan
from hangtop.actions.plans.run_plan import run_plan
from hangtop.common.clean_words import clean_words
from hangtop.guard.due import Due
from hangtop.guard.events import GuardEvent
from hangtop.guard.policy import Deed, Policy
from hangtop.records.watch_spec import WatchSpec, as_options, plain_file
from hangtop.system.hangtop_child import hangtop_command

LIMIT_S: dict[Deed, float] = {"stacks": 120, "bundle": 300, "run": 600, "stop": 600, "restart": 1200, "recover": 1800}
"""After this a deed is given up; its executor goes on by itself, and its proof is in the log of actions."""
LAST_LINES = 3
CHECKPOINT = "{checkpoint}"


class Outcome(Struct, frozen=True):
    went: bool
    text: str


class Case(Struct, frozen=True):
    """What a deed needs to know. `folder`: in which the guard was started. `checkpoint`: the newest one, if one is known."""

    spec: WatchSpec
    policy: Policy
    event: GuardEvent
    at: float
    folder: str
    checkpoint: str | None = None


async def carry_out(due: Due, case: Case) -> Outcome:
    """Do it, and tell what came of it. Never raises for what a command may meet."""
    try:
        return await DEEDS[due.deed](due, case)
    except TimeoutError:
        return Outcome(False, f"given up after {LIMIT_S[due.deed]:.0f} s; what it began goes on by itself")
    except OSError as error:
        return Outcome(False, f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")


async def _stacks(due: Due, case: Case) -> Outcome:
    place = _place(case, "stacks", "txt")
    code, output = await _hangtop(due.deed, "stacks", *as_options(case.spec))
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(output)
    return Outcome(code == 0, str(place) if code == 0 else _last(output))


async def _bundle(due: Due, case: Case) -> Outcome:
    place = _place(case, "bundle", "tar.gz")
    code, output = await _hangtop(due.deed, "bundle", *as_options(case.spec), "-o", str(place))
    return Outcome(code == 0, str(place) if code == 0 else _last(output))


async def _hook(due: Due, case: Case) -> Outcome:
    code, output = await _child(due.deed, due.when.run, msgspec.json.encode(case.event) + b"\n")
    return Outcome(code == 0, _last(output) or f"exit code {code}")


async def _act(due: Due, case: Case) -> Outcome:
    """`stop`, `restart`, `recover`: the command of this name, whose exit code 0 means done and proven."""
    if due.deed == "restart" and case.policy.restart.command:
        return await _by_command(due, case)
    code, output = await _hangtop(due.deed, due.deed, *as_options(case.spec), "--yes")
    return Outcome(code == 0, _last(output))


async def _by_command(due: Due, case: Case) -> Outcome:
    """Stop the run if it lives, then start the command of the policy."""
    code, output = await _hangtop(due.deed, "stop", *as_options(case.spec), "--yes")
    if code == 1:
        return Outcome(False, f"not started: {_last(output)}")
    log = plain_file(case.spec.logs)
    if log is None:
        return Outcome(False, "not started: restart.command writes to one plain file, so --log must name one")
    plan = run_plan([*case.policy.restart.command, *_resume(case)], case.folder, os.path.join(case.folder, log))
    steps = [step async for step in RunningPlan(plan)]
    return Outcome(all(step.kind != "failed" for step in steps), steps[-1].text if steps else "nothing was started")


def _resume(case: Case) -> list[str]:
    """The words that make the run go on from its newest checkpoint; none where no checkpoint is known."""
    words = case.policy.restart.resume
    if not any(CHECKPOINT in word for word in words):
        return [*words]
    return [word.replace(CHECKPOINT, case.checkpoint) for word in words] if case.checkpoint else []


async def _hangtop(deed: Deed, *words: str) -> tuple[int, bytes]:
    return await _child(deed, hangtop_command("hangtop", *words))


async def _child(deed: Deed, words: Sequence[str], told: bytes = b"") -> tuple[int, bytes]:
    """Exit code and output of a program in a session of its own. Raises `OSError`, `TimeoutError`."""
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(LIMIT_S[deed]):
            output, _ = await process.communicate(told)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise
    return process.returncode or 0, output


def _place(case: Case, what: str, ending: str) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(case.at))
    folder = Path(case.policy.keep).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"hangtop-{case.event.name}-{stamp}-{what}.{ending}"


def _last(output: bytes) -> str:
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return clean_words(" · ".join(lines[-LAST_LINES:]))


DEEDS: dict[Deed, Callable[[Due, Case], Awaitable[Outcome]]] = {
    "stacks": _stacks,
    "bundle": _bundle,
    "run": _hook,
    "stop": _act,
    "restart": _act,
    "recover": _act,
}
"""`notify` is no command: see `hangtop.guard.notices`."""
