"""`hangtop stop`: the plan to stop a run or a rank, and its execution, for scripts."""

from __future__ import annotations

import asyncio
from typing import TextIO

from hangtop.actions import stop
from hangtop.actions.perform import myself, perform
from hangtop.feeds import Feed
from hangtop.records.plan import Plan, Refusal
from hangtop.session import processes_of
from hangtop.text import clock, size


def run(feed: Feed, rank: int | None, *, yes: bool, out: TextIO) -> int:
    """Print the plan; with `yes` carry it out. Exit code 0 done or shown, 1 something survived, 2 no plan."""
    plan = stop.plan(asyncio.run(processes_of(feed)), myself(), rank)
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


async def _carry_out(plan: Plan, out: TextIO) -> int:
    kinds = set()
    async for step in perform(plan):
        kinds.add(step.kind)
        out.write(f"{clock(step.at)}  {step.kind:<8} {step.text}\n")
        out.flush()
    return 1 if kinds & {"survived", "failed"} else 0
