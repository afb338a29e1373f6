"""Commands that a plan runs: to their end within a deadline, as those that gather evidence, or as the new run, which lives on."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from hangtop.actions.execute.client import begin
from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.common import text
from hangtop.records.launch import Launch
from hangtop.records.plan import EvidenceCommand, Start, Step
from hangtop.system.hangtop_child import hangtop_command
from hangtop.system.memory import unnamed_memory
from hangtop.system.processes.linux import read_stat
from hangtop.system.processes.roles import RUNNER

POLL_S = 0.1
LIVES_S = 1.0
"""A command that cannot run ends within this time."""


class CommandRun(NamedTuple):
    """A command that ended. `code`: its exit code, `None` when we ended it. `printed`: its lines, without blank ones."""

    code: int | None
    printed: list[str]
    took_s: float


def run_command(
    argv: Sequence[str],
    within_s: float,
    *,
    halt: CancelFlag | None = None,
    output: str | None = None,
    cwd: str | None = None,
    env: Mapping[bytes, bytes] | None = None,
) -> CommandRun:
    """Run it in a session of its own, without input. After `within_s`, or if `halt` is set, it ends with all that it started.
    `output`: the file for its stdout; all else goes to memory, for the temporary folder may be full. Raises `OSError`."""
    began = time.monotonic()
    with os.fdopen(unnamed_memory(0), "rb") as printed, open(output or os.devnull, "wb") as file:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=file if output else printed,
            stderr=printed,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        while (code := child.poll()) is None:
            if (halt is not None and halt.asked) or time.monotonic() > began + within_s:
                os.killpg(child.pid, signal.SIGKILL)  # our own child, not yet waited for, so its group is still its own
                child.wait()
                break
            time.sleep(POLL_S)
        lines = os.pread(printed.fileno(), 1 << 20, 0).decode(errors="replace").splitlines()
    return CommandRun(code, [line.strip() for line in lines if line.strip()], time.monotonic() - began)


def gather(commands: Iterable[EvidenceCommand], halt: CancelFlag) -> Generator[Step, None, bool]:
    """One after another. A command that fails is reported, and holds nothing up; one that is needed ends it. Returns whether
    none that is needed failed."""
    for command in commands:
        if halt():
            yield step("skipped", f"{command.title}: not begun")
            if command.needed:
                return False
            continue
        yield step("doing", f"{command.title}, within {command.deadline_s:.0f} s")
        why, done = _gathered(command, halt)
        if not why:
            yield step("done", f"{command.title}: {done}")
        elif not command.needed:
            yield step("skipped", f"{command.title}: {why}")
        else:
            yield step("failed", f"nothing was signalled or started: {command.title}: {why}")
            return False
    return True


def _gathered(command: EvidenceCommand, halt: CancelFlag) -> tuple[str, str]:
    """(why it failed, what it says)."""
    try:
        argv = hangtop_command("hangtop", *command.words)
        code, printed, took_s = run_command(argv, command.deadline_s, halt=halt, output=command.output)
    except OSError as error:
        return str(error), ""
    if code is None:
        return f"broken off after {took_s:.1f} s", ""
    if code == 0:
        said = printed if command.needed else printed[:1]
        return "", f"{command.output or '; '.join(said) or 'done'}, {took_s:.1f} s"
    last = printed[-1] if printed else "it said nothing"
    return f"exit code {code} after {text.duration(took_s)}: {last[:200]}", ""


class LaunchError(Exception):
    """The command could not be started. The message is one line."""


def launch(start: Start) -> Launch:
    """Start it under a runner of its own; it lives on without us. Raises `LaunchError`."""
    runner, answer = begin(RUNNER, start)
    with answer:
        line = answer.readline()
    try:
        return msgspec.json.decode(line, type=Launch)
    except msgspec.DecodeError:
        said = line.decode(errors="replace").strip() or f"the runner broke off (exit code {runner.wait(5)})"
        raise LaunchError(said) from None


def started(start: Start) -> Generator[Step, None, bool]:
    """Start it, as steps, and prove that it runs."""
    yield step("doing", f"starting {shlex.join(start.argv)} in {start.cwd}")
    try:
        known = launch(start)
    except LaunchError as error:
        yield step("failed", f"not started: {error}")
        return False
    yield step("done", f"pid {known.pid} is started, attempt {known.attempt}; its output goes to {start.log}")
    time.sleep(LIVES_S)
    stat = read_stat(known.pid)
    if stat is None or stat.start_ticks != known.start_ticks or stat.state in "ZX":
        yield step("failed", f"pid {known.pid} ended within {LIVES_S:.0f} s: {os.path.basename(start.log)} says why")
        return False
    yield step("proof", f"pid {known.pid} runs")
    return True
