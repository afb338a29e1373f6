"""Start a command through a runner, and prove that it runs."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Generator

import msgspec

from hangtop.actions.execute.client import begin
from hangtop.actions.execute.steps import step
from hangtop.actions.plans.stop_plan import RUNNER
from hangtop.records.launch import Launch
from hangtop.records.plan import Start, Step
from hangtop.system.processes.linux import read_stat

LIVES_S = 1.0
"""A command that cannot run ends within this time."""


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
