"""A restart by the command of the policy, which the guard does itself, part by part: stop the run, then start the command."""

from __future__ import annotations

import asyncio
import os

from msgspec.structs import replace

from hangtop.actions.execute.client import RunningPlan
from hangtop.actions.execute.steps import logged_bytes
from hangtop.actions.plans.run_plan import run_plan
from hangtop.actions.prove.premise import writers
from hangtop.common import clock
from hangtop.common.raw_text import to_os
from hangtop.guard.case import CALLED_OFF, LIMIT_S, NOT_WRITTEN, Case, Outcome, failed
from hangtop.guard.checkpoint import newest_whole
from hangtop.guard.children import harm
from hangtop.guard.episodes import Course, Done, Part
from hangtop.guard.left_half import next_step
from hangtop.guard.look_back import look_back
from hangtop.guard.own_run import lives
from hangtop.guard.read_policy import CHECKPOINT
from hangtop.records.plan import Start
from hangtop.records.watch_spec import plain_file
from hangtop.system.processes.open_table import open_table
from hangtop.system.stores import launch_store

LOOK_AGAIN_S = 2.0
"""At what a guard before this one has begun, and at a disk that was full."""


async def by_command(case: Case) -> Outcome:
    """Stop the run if it lives, then start the command of the policy; never beside another one that writes to the same log. Which
    checkpoint it goes on from is settled before anything ends: the last words of the run say nothing of its saves."""
    log = plain_file(case.spec.logs)
    if log is None:
        return Outcome(False, "not started: restart.command writes to one plain file, so --log must name one", nothing=True)
    if case.unseen:
        return Outcome(False, "the run may live on a node that cannot be seen: a guard starts nothing then", nothing=True)
    try:
        words = (*case.policy.restart.command, *await _resume(case))
    except OSError as error:
        return replace(failed(error), nothing=True)
    course = _part("stops", Course("stops", words, case.folder, os.path.join(case.folder, log), case.at))
    if not case.lives:
        return CALLED_OFF if case.called_off.is_set() else await _start(course, case)
    if not (stopped := await harm("restart", "stop", case, course)).went:
        return replace(stopped, text=f"not started: {stopped.text}")
    case.begins(_part("stopped", course))
    return await _start(course, case, stopped=True)


def _part(part: Part, course: Course) -> Course:
    """This part of the course as it begins now."""
    launch = launch_store.latest(os.path.realpath(course.log))
    known = None if launch is None else (launch.pid, launch.start_ticks)
    return replace(course, part=part, at=clock.now(), known=known, logged_bytes=logged_bytes())


async def _start(course: Course, case: Case, *, stopped: bool = False) -> Outcome:
    """Start the command. After a stop a disk that is full is waited for: the run would be left stopped."""
    plan = run_plan(course.words, course.folder, course.log)
    assert plan.start is not None
    async with asyncio.timeout(LIMIT_S["restart"]):
        while True:
            why = case.not_begun(_part("starts", course))
            if others := await asyncio.to_thread(_writers, plan.start):
                return Outcome(False, f"not started: {others} still writes to {course.log}")
            if why is None:
                break
            if why is not NOT_WRITTEN or not stopped:
                return replace(why, nothing=not stopped)
            await asyncio.sleep(LOOK_AGAIN_S)
    steps = [step async for step in RunningPlan(plan)]
    return Outcome(all(step.kind != "failed" for step in steps), steps[-1].text if steps else "nothing was started")


async def go_on(done: Done, case: Case) -> Outcome:
    """What a guard that was killed has left half done (`hangtop.guard.left_half`): look until it is known how far that came, and
    do the rest, with the words that were written down then."""
    course, wanted = done.course, case.policy.restart.command
    assert course is not None
    if not wanted or course.words[: len(wanted)] != wanted or not any("restart" in when.deeds for when in case.policy.when):
        return Outcome(False, "not started: the policy does not want that restart any more")
    async with asyncio.timeout(max(0.0, done.at + LIMIT_S[done.deed] - clock.now())):
        while (step := next_step(course, await asyncio.to_thread(look_back, course))).do == "wait":
            if why := case.unwanted():
                return Outcome(False, f"not begun: {why}")
            await asyncio.sleep(LOOK_AGAIN_S)
    if step.do == "leave":
        return Outcome(step.went, step.text)
    return await _start(course, case, stopped=True)


def _writers(start: Start) -> str:
    """Those that write to its output; a run that hangtop started does through its runner, which is none of them."""
    table = open_table()
    table.refresh(())
    launch = launch_store.latest(os.path.realpath(to_os(start.log)))
    started = {launch.pid} if launch is not None and lives(launch) else set()
    return ", ".join(f"pid {pid}" for pid in sorted({writer.pid for writer in writers(start, table)} | started))


async def _resume(case: Case) -> list[str]:
    """The words that make the run go on from its newest whole checkpoint; none where no such one is known."""
    words = case.policy.restart.resume
    if not any(CHECKPOINT in word for word in words):
        return [*words]
    if case.checkpoints is None:
        return []
    found = await asyncio.to_thread(newest_whole, os.path.join(case.folder, case.checkpoints), case.told_at)
    return [word.replace(CHECKPOINT, found) for word in words] if found else []
