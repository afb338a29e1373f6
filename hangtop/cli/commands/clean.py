"""`hangtop clean`: what dead runs left behind, and its removal, for scripts."""

from __future__ import annotations

import asyncio
from typing import TextIO

from msgspec.structs import replace

from hangtop.actions.execute.client import myself
from hangtop.actions.plans import clean_plan
from hangtop.cli.commands.stop import show
from hangtop.common import clock
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import looks, too_long
from hangtop.monitor.questions import unanswered
from hangtop.records.ask import LeftoversAsk
from hangtop.records.leftovers import LeftoversReading
from hangtop.records.plan import Plan, Refusal
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

PATIENCE_S = 60.0
PROCESSES_WITHIN_S = 5.0


def narrowed(spec: WatchSpec) -> WatchSpec:
    """Only the sources that this needs."""
    return replace(spec, sources=("procs", "leftovers"))


def run(feed: Feed, older_s: float, *, yes: bool, out: TextIO) -> int:
    """Print the plan; with `yes` carry it out. Exit code 0 done, shown or nothing to do, 1 something stayed, 2 cannot look."""
    state, found = asyncio.run(_look(feed, older_s))
    if found is None:
        out.write(f"hangtop clean: {too_long(state)}\n")
        return 2
    plan: Plan | Refusal = clean_plan.clean_plan(state, found, myself(), clock.now(), older_s)
    if isinstance(plan, Refusal) and found.problem is None:
        out.write(f"hangtop clean: {plan.why}\n")
        return 0
    return show(plan, "clean", yes=yes, out=out)


async def _look(feed: Feed, older_s: float) -> tuple[RunState, LeftoversReading | None]:
    """First the processes, then the files, and which of the processes still write."""
    state = RunState()
    asked: LeftoversAsk | None = None
    async for state, waited_s in looks(feed, PATIENCE_S):
        if asked is None and (state.procs is not None or waited_s > PROCESSES_WITHIN_S):
            asked = clean_plan.ask_of(state, myself(), 1, clock.now(), older_s)
            feed.ask(asked)
        if state.leftovers is not None:
            break
        if asked is not None and (why := unanswered(state, asked)) is not None:
            return state, LeftoversReading(asked.ask, problem=why)
    return state, state.leftovers
