"""What a guard does: each deed is a command of hangtop in a process of its own, which looks afresh, plans and proves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hangtop.actions.execute.client import RunningPlan
from hangtop.actions.plans.run_plan import run_plan
from hangtop.actions.prove.premise import writers
from hangtop.common.clean_words import clean_words
from hangtop.common.secrets.redactor import Redactor
from hangtop.guard.checkpoint import newest_whole
from hangtop.guard.due import Due
from hangtop.guard.events import GuardEvent
from hangtop.guard.policy import Deed, Policy
from hangtop.guard.read_policy import CHECKPOINT
from hangtop.guard.send_notice import PICTURE
from hangtop.records.plan import Start
from hangtop.records.stopped import FOR_GUARD
from hangtop.records.watch_spec import WatchSpec, as_options, plain_file
from hangtop.system.hangtop_child import hangtop_command
from hangtop.system.processes.open_table import open_table

LIMIT_S: dict[Deed, float] = {
    "stacks": 120,
    "picture": 120,
    "bundle": 300,
    "run": 600,
    "stop": 600,
    "restart": 1200,
    "recover": 1800,
}
"""After this a deed is given up; its executor goes on by itself, and its proof is in the log of actions."""
LAST_LINES = 3


class Outcome(Struct, frozen=True):
    """`nothing`: nothing was changed, so it may be tried again."""

    went: bool
    text: str
    nothing: bool = False


class Case(Struct, frozen=True):
    """What a deed needs to know. `folder`: in which the guard was started. `called_off`: is set when the run goes on; what has
    begun by then is ended all the same. `checkpoints`: their directory, if it is known to be this run's. `told_at`: when the run
    last told anything new. `lives`: a process of it does. `begins`: takes down that a deed which ends or starts processes begins;
    returns whether that could be written: else it is not to be done."""

    spec: WatchSpec
    policy: Policy
    event: GuardEvent
    at: float
    folder: str
    called_off: asyncio.Event
    begins: Callable[[], bool]
    checkpoints: str | None = None
    told_at: float | None = None
    lives: bool = True


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


async def _picture(due: Due, case: Case) -> Outcome:
    place = _place(case, "screen", PICTURE)
    code, output = await _hangtop(due.deed, "picture", *as_options(case.spec), "-o", str(place))
    return Outcome(code == 0, str(place) if code == 0 else _last(output))


async def _hook(due: Due, case: Case) -> Outcome:
    code, output = await _child(due.deed, due.when.run, msgspec.json.encode(case.event) + b"\n")
    return Outcome(code == 0, " · ".join(filter(None, (f"exit code {code}" if code else "", _last(output)))) or "exit code 0")


async def _act(due: Due, case: Case) -> Outcome:
    """`stop`, `restart`, `recover`: the command of this name, whose exit code 0 means done and proven."""
    if due.deed == "restart" and case.policy.restart.command:
        return await _by_command(due, case)
    return await _harm(due.deed, due.deed, case)


async def _harm(deed: Deed, command: str, case: Case) -> Outcome:
    """Carry out the command that ends processes. It says its plan, and waits for a word: until then it has ended nothing, is
    called off if the run goes on, and ends with the guard; what is under way after that is not broken off halfway."""
    words = hangtop_command("hangtop", command, *as_options(case.spec), "--yes")
    process = await _started(words, {**os.environ, FOR_GUARD: "1"})
    assert process.stdout is not None
    said, goes_on = asyncio.create_task(process.stdout.read(1)), asyncio.create_task(case.called_off.wait())
    try:
        async with asyncio.timeout(LIMIT_S[deed]):
            await asyncio.wait((said, goes_on), return_when=asyncio.FIRST_COMPLETED)
            if not said.done():
                _end(process)
                return Outcome(False, "called off: the run goes on", nothing=True)
            if not case.begins():
                _end(process)
                return NOT_WRITTEN
            output = said.result() + (await process.communicate(b"begin\n"))[0]
    except TimeoutError:
        _end(process)
        raise
    finally:
        said.cancel()
        goes_on.cancel()
    return Outcome(process.returncode == 0, _last(output), nothing=process.returncode == 2)


async def _by_command(due: Due, case: Case) -> Outcome:
    """Stop the run if it lives, then start the command of the policy; never beside another one that writes to the same log."""
    log = plain_file(case.spec.logs)
    if log is None:
        return Outcome(False, "not started: restart.command writes to one plain file, so --log must name one", nothing=True)
    if case.lives and not (stopped := await _harm(due.deed, "stop", case)).went:
        return replace(stopped, text=f"not started: {stopped.text}")
    plan = run_plan([*case.policy.restart.command, *await _resume(case)], case.folder, os.path.join(case.folder, log))
    assert plan.start is not None
    if others := await asyncio.to_thread(_writers, plan.start):
        return Outcome(False, f"not started: {others} still writes to {log}")
    if not case.begins():
        return NOT_WRITTEN
    steps = [step async for step in RunningPlan(plan)]
    return Outcome(all(step.kind != "failed" for step in steps), steps[-1].text if steps else "nothing was started")


def _writers(start: Start) -> str:
    return ", ".join(f"pid {writer.pid}" for writer in sorted(writers(start, open_table())))


NOT_WRITTEN = Outcome(False, "not begun: it could not be written down", nothing=True)


async def _resume(case: Case) -> list[str]:
    """The words that make the run go on from its newest whole checkpoint; none where no such one is known."""
    words = case.policy.restart.resume
    if not any(CHECKPOINT in word for word in words):
        return [*words]
    if case.checkpoints is None:
        return []
    found = await asyncio.to_thread(newest_whole, os.path.join(case.folder, case.checkpoints), case.told_at)
    return [word.replace(CHECKPOINT, found) for word in words] if found else []


async def _hangtop(deed: Deed, *words: str) -> tuple[int, bytes]:
    return await _child(deed, hangtop_command("hangtop", *words))


async def _child(deed: Deed, words: Sequence[str], told: bytes = b"") -> tuple[int, bytes]:
    """Exit code and output of a program in a session of its own. Raises `OSError`, `TimeoutError`."""
    process = await _started(words)
    try:
        async with asyncio.timeout(LIMIT_S[deed]):
            output, _ = await process.communicate(told)
    except TimeoutError:
        _end(process)
        raise
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


def _end(process: asyncio.subprocess.Process) -> None:
    """Our own child, which was not reaped: its pid is no other's."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()


def _place(case: Case, what: str, ending: str) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(case.at))
    folder = Path(case.policy.keep).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"hangtop-{case.event.name}-{stamp}-{what}.{ending}"


def _last(output: bytes) -> str:
    """The last lines that a command said, without the secrets that a hook may print."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return Redactor().text(clean_words(" · ".join(lines[-LAST_LINES:])))


DEEDS: dict[Deed, Callable[[Due, Case], Awaitable[Outcome]]] = {
    "stacks": _stacks,
    "bundle": _bundle,
    "picture": _picture,
    "run": _hook,
    "stop": _act,
    "restart": _act,
    "recover": _act,
}
"""`notify` is no command: see `hangtop.guard.post`."""
