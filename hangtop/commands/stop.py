"""`hangtop stop`: the plan to stop a run or a rank, and its execution, for scripts."""

from __future__ import annotations

import asyncio
from typing import TextIO

from hangtop.actions import stop
from hangtop.actions.perform import myself, perform
from hangtop.feeds import Feed
from hangtop.panes.plan_rows import plain, rows, step_rows
from hangtop.records.plan import Plan, Refusal, Step
from hangtop.session import processes_of

WIDE = 10_000
"""Scripts want whole lines."""


def run(feed: Feed, rank: int | None, *, yes: bool, out: TextIO) -> int:
    """Print the plan; with `yes` carry it out. Exit code 0 done or shown, 1 something survived, 2 no plan."""
    plan = stop.plan(asyncio.run(processes_of(feed, gpus=True)), myself(), rank)
    return show(plan, "stop", yes=yes, out=out)


def show(plan: Plan | Refusal, command: str, *, yes: bool, out: TextIO) -> int:
    """The same for any plan."""
    if isinstance(plan, Refusal):
        out.write(f"hangtop {command}: {plan.why}\n")
        return 2
    out.write("\n".join(lines(plan)) + "\n")
    if not yes:
        out.write(f"nothing was done: hangtop {command} … --yes does it\n")
        return 0
    return asyncio.run(_carry_out(plan, out))


def lines(plan: Plan) -> list[str]:
    """The plan word for word."""
    return [plan.title, *(f"  {plain(row)}".rstrip() for row in rows(plan, WIDE))]


async def _carry_out(plan: Plan, out: TextIO) -> int:
    kinds = set()
    async for step in perform(plan):
        kinds.add(step.kind)
        _say(step, out)
    return 1 if kinds & {"survived", "failed"} else 0


def _say(step: Step, out: TextIO) -> None:
    out.write("".join(f"{plain(row)}\n" for row in step_rows((step,), WIDE)))
    out.flush()
