"""`hangtop stop`: the plan to stop a run or a rank, and its execution, for scripts."""

from __future__ import annotations

import asyncio
import time
from typing import TextIO

from hangtop.actions import stop
from hangtop.actions.perform import myself, perform
from hangtop.feeds import Feed
from hangtop.model import RunState
from hangtop.records.plan import Plan, Refusal
from hangtop.session import states
from hangtop.text import clock, size

PATIENCE_S = 5.0


def run(feed: Feed, rank: int | None, *, yes: bool, out: TextIO) -> int:
    """Print the plan; with `yes` carry it out. Exit code 0 done or shown, 1 something survived, 2 no plan."""
    plan = stop.plan(asyncio.run(_look(feed)), myself(), rank)
    if isinstance(plan, Refusal):
        out.write(f"hangtop stop: {plan.why}\n")
        return 2
    out.write("\n".join(lines(plan)) + "\n")
    if not yes:
        out.write("nothing was done: hangtop stop … --yes does it\n")
        return 0
    return asyncio.run(_carry_out(plan, out))


def lines(plan: Plan) -> list[str]:
    """The plan word for word."""
    shown = [plan.title, f"  TERM, {plan.grace_s:.0f} s, then KILL, in this order:"]
    for target in plan.targets:
        rank = "" if target.rank is None else f"rank {target.rank}"
        memory = "" if target.rss_bytes is None else size(target.rss_bytes)
        started = f"since {clock(target.started_at)}"
        shown.append(
            f"  {target.pid:>8}  {started}  {target.user or '?':<8} {rank:<8} {target.state}  {memory:>7}  {target.command}"
        )
    shown += [f"  not touched: {spared.what}: {spared.why}" for spared in plan.spared]
    shown += [f"  ! {warning}" for warning in plan.warnings]
    return shown


async def _look(feed: Feed) -> RunState:
    """Until the processes of the run are known."""
    state = RunState()
    started = time.monotonic()
    async for state in states(feed, 0.1):
        known = state.procs is not None and state.procs.processes
        if known or time.monotonic() - started > PATIENCE_S:
            break
    return state


async def _carry_out(plan: Plan, out: TextIO) -> int:
    kinds = set()
    async for step in perform(plan):
        kinds.add(step.kind)
        out.write(f"{clock(step.at)}  {step.kind:<8} {step.text}\n")
        out.flush()
    return 1 if kinds & {"survived", "failed"} else 0
