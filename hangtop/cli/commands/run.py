"""`hangtop run` starts a run whose output goes to a log; `hangtop restart` starts one again."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Sequence
from typing import TextIO

from hangtop.actions.command_line.typed import with_variables
from hangtop.actions.execute.client import carry_out, myself
from hangtop.actions.plans import restart_plan
from hangtop.cli.commands.stop import StartChanges, show
from hangtop.common.clean_words import clean_words
from hangtop.common.raw_text import from_os
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import FIRST_LOOK_S, looks, ray_known, too_long
from hangtop.monitor.questions import unanswered
from hangtop.records.ask import LaunchAsk
from hangtop.records.plan import Plan, Refusal, Start, Step
from hangtop.records.watch_spec import WatchSpec, plain_file
from hangtop.system.stores import launch_store

PATIENCE_S, PROCESSES_WITHIN_S, RAY_WITHIN_S = 15.0, 3.0, 10.0


def start(words: Sequence[str], logs: Sequence[str], out: TextIO) -> int:
    """Start it in this folder with this environment. Exit code 0, or 2 with one line when that cannot be done."""
    log = plain_file(logs)
    if log is None or os.path.isdir(log):
        out.write("hangtop run: one plain file takes the output: hangtop --log train.log -- COMMAND …\n")
        return 2
    argv = tuple(from_os(word) for word in with_variables(words))
    begin = Start(argv, from_os(os.getcwd()), from_os(os.path.abspath(log)))
    plan = Plan("run", f"Run {clean_words(shlex.join(argv))}", start=begin)
    for step in asyncio.run(_steps(plan)):
        if step.kind == "done":  # it is started; what becomes of it is seen in its log
            return 0
        if step.kind == "failed":
            out.write(f"hangtop run: {step.text}\n")
            return 2
    return 0


def goes_on(logs: Sequence[str]) -> str:
    """What a person needs to know when the screen is left."""
    known = launch_store.latest(os.path.realpath(logs[0]))
    if known is None or known.exit_code is not None:
        return ""
    log = shlex.quote(logs[0])
    return f"the run goes on as pid {known.pid}: hangtop --log {log} watches it again, hangtop stop --log {log} --yes ends it\n"


def restart_run(feed: Feed, spec: WatchSpec, changes: StartChanges, *, yes: bool, out: TextIO) -> int:
    """Print the plan; with `yes` carry it out. Exit code 0 done or shown, 1 something survived or did not start, 2 no plan, or
    one that could not start."""
    return show(asyncio.run(_plan(feed, spec)), "restart", yes=yes, out=out, changes=changes)


async def _steps(plan: Plan) -> list[Step]:
    return [step async for step in carry_out(plan)]


async def _plan(feed: Feed, spec: WatchSpec) -> Plan | Refusal:
    """First the processes, then how the topmost of them was started. That none lives is not said before the processes were looked
    at: on a busy machine that may take long."""
    asked: LaunchAsk | None = None
    looked_s: float | None = None
    async for state, waited_s in looks(feed, FIRST_LOOK_S + PATIENCE_S):
        looked_s = waited_s if looked_s is None and state.procs is not None else looked_s
        alive = state.procs is not None and state.procs.processes
        late = waited_s > FIRST_LOOK_S if looked_s is None else waited_s - looked_s > PROCESSES_WITHIN_S
        if asked is None and (alive or late):
            feed.ask(asked := restart_plan.launch_ask(state, 1))
        if state.launch is not None:
            if ray_known(state) or waited_s > RAY_WITHIN_S:
                return restart_plan.answered(state, state.launch, myself(), None, spec.logs)
        elif asked is not None and (why := unanswered(state, asked)) is not None:
            return Refusal(why)
    return Refusal(too_long(state))
