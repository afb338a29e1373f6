"""`hangtop run`: start a run whose output goes to a log."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Sequence
from typing import TextIO

from hangtop.actions.execute.client import RunningPlan
from hangtop.actions.plans.run_plan import run_plan
from hangtop.records.plan import Plan, Step
from hangtop.records.watch_spec import plain_file
from hangtop.system.stores import launch_store


def start(words: Sequence[str], logs: Sequence[str], out: TextIO) -> int:
    """Start the command in this folder with this environment. Exit code 0, or 2 with one line when that fails."""
    log = plain_file(logs)
    if log is None or os.path.isdir(log):
        out.write("hangtop run: one plain file takes the output: hangtop --log train.log -- COMMAND …\n")
        return 2
    for step in asyncio.run(_steps(run_plan(words, os.getcwd(), os.path.abspath(log)))):
        if step.kind == "done":  # started; its log shows the rest
            return 0
        if step.kind == "failed":
            out.write(f"hangtop run: {step.text}\n")
            return 2
    return 0


def goes_on(logs: Sequence[str]) -> str:
    """What to tell a person who leaves the screen while the run goes on."""
    known = launch_store.latest(os.path.realpath(logs[0]))
    if known is None or known.exit_code is not None:
        return ""
    log = shlex.quote(logs[0])
    return f"the run goes on as pid {known.pid}: hangtop --log {log} watches it again, hangtop stop --log {log} --yes ends it\n"


async def _steps(plan: Plan) -> list[Step]:
    return [step async for step in RunningPlan(plan)]
