"""`hangtop stop`: the plan to stop a run or a rank, and its execution, for scripts."""

from __future__ import annotations

import asyncio
import signal
from typing import TextIO

from msgspec import Struct
from msgspec.structs import replace

from hangtop.actions.execute.action_log import path as journal_path
from hangtop.actions.execute.client import RunningPlan, carry_out, myself
from hangtop.actions.plans import stop_plan
from hangtop.actions.plans.presets import Preset, with_presets
from hangtop.actions.prove.preflight import fit
from hangtop.common.text import printable
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import processes_of, too_long
from hangtop.records.fit import Fit, fit_ask
from hangtop.records.plan import Plan, Refusal, Step
from hangtop.render.plan_rows import plain, rows, step_rows
from hangtop.system.stores import launch_store

WIDE = 10_000
"""Scripts want whole lines."""


class StartChanges(Struct, frozen=True):
    """What is not as it was in the new run, for this start alone: presets, and variables of a person's own."""

    presets: tuple[Preset, ...] = ()
    variables: dict[str, str] = {}


def run(feed: Feed, rank: int | None, *, yes: bool, out: TextIO) -> int:
    """Print the plan; with `yes` carry it out. Exit code 0 done or shown, 1 something survived, 2 no plan."""
    state = asyncio.run(processes_of(feed, gpus=True))
    plan = stop_plan.stop_plan(state, myself(), rank) if state.procs is not None else Refusal(too_long(state))
    return show(plan, "stop", yes=yes, out=out)


def show(plan: Plan | Refusal, command: str, *, yes: bool, out: TextIO, changes: StartChanges | None = None) -> int:
    """The same for any plan. `changes`: for one that starts the run again; whether it would start is looked at first."""
    if isinstance(plan, Refusal):
        out.write(f"hangtop {command}: {printable(plan.why)}\n")
        return 2
    plan = with_presets(plan, changes.presets, changes.variables) if changes is not None else plan
    found = fit(ask) if (ask := fit_ask(plan)) is not None else Fit()
    plan = replace(plan, warnings=(*plan.warnings, *found.warnings))
    out.write("\n".join(lines(plan)) + "\n")
    if found.problems or not yes:
        launch_store.discard(start.environ_file for start in plan.ray)
    if found.problems:
        out.writelines(f"hangtop {command}: it would not start: {problem}\n" for problem in found.problems)
        out.write("nothing was done\n")
        return 2
    if not yes:
        out.write(f"nothing was done: hangtop {command} … --yes does it\n")
        return 0
    out.write(f"carried out by a process of its own, which goes on if this one ends; its steps are also in {journal_path()}\n")
    out.flush()
    return asyncio.run(_carry_out(plan, out))


def lines(plan: Plan) -> list[str]:
    """The plan word for word."""
    return [printable(plan.title), *(f"  {plain(row)}".rstrip() for row in rows(plan, WIDE))]


async def _carry_out(plan: Plan, out: TextIO) -> int:
    kinds, work = set(), carry_out(plan)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, _break_off, work, out)
    async for step in work:
        kinds.add(step.kind)
        _say(step, out)
    return 1 if kinds & {"survived", "failed"} else 0


def _break_off(work: RunningPlan, out: TextIO) -> None:
    """The first Ctrl-C; the second leaves the performer to itself."""
    work.break_off()
    asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
    out.write("breaking off: no further step is begun\n")
    out.flush()


def _say(step: Step, out: TextIO) -> None:
    out.write("".join(f"{plain(row)}\n" for row in step_rows((step,), WIDE)))
    out.flush()
