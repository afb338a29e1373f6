"""An action as a command, for scripts: its plan, and with --yes its execution, step by step."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from msgspec.structs import replace

from hangtop.actions.execute.client import RunningPlan, evidence_path, own_process, wait_for_start_check
from hangtop.actions.execute.steps import log_path
from hangtop.actions.plans.advised import offered, taken_over
from hangtop.actions.plans.presets import with_presets
from hangtop.actions.plans.saving import saved_first
from hangtop.actions.registry import Action, Choices, Need, Planner, Request
from hangtop.cli.commands.check import advised, verdict_once
from hangtop.common import clock
from hangtop.common.text import printable
from hangtop.feeds.probe_feed import Feed, ProbeFeed
from hangtop.monitor.headless import FIRST_LOOK_S, gpus_read, looks, nodes_told, ray_known, settled, told_once, too_long
from hangtop.monitor.questions import answered, unanswered
from hangtop.records.advice import Advice
from hangtop.records.ask import Ask
from hangtop.records.health import NO_ANSWER_S
from hangtop.records.plan import Fit, Plan, Refusal, fit_ask
from hangtop.records.stopped import AWAITS_GUARD, FOR_GUARD
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.plan_rows import rows, step_rows
from hangtop.render.ray.ray_lines import session_table
from hangtop.render.spans import plain
from hangtop.state.run_state import RunState
from hangtop.system.stores import launch_store
from hangtop.translations import say

WIDTH = 10_000
"""Scripts want whole lines."""
PROCESSES_S, NODES_S, SOURCES_S, RAY_S, GPUS_S = 5.0, 15.0, 6.0, 10.0, NO_ANSWER_S
"""From the first look at the processes on, so long is waited for the run's processes, the named nodes, the sources, its Ray
session, the GPUs."""


def run(
    action: Action,
    spec: WatchSpec,
    choices: Choices,
    *,
    yes: bool,
    out: TextIO,
    feed_of: Callable[[WatchSpec], Feed] = ProbeFeed,
) -> int:
    """Print the plan; with `yes` carry it out. Exit code 0 done, shown or nothing to do, 1 not all is as it should be, 2 no plan:
    then the Ray sessions to choose from follow, if any."""
    planner, now = action.load_planner(), clock.now()
    request = Request(own_process(), planner.narrowed(spec), now, choices, evidence=evidence_path(now))
    takes_over = "as_it_was" in action.options and not choices.as_it_was and not choices.presets
    told = asyncio.run(_advice(feed_of(spec), spec)) if takes_over else ()
    state, plan, asked = asyncio.run(_planned(planner, request, feed_of(request.spec)))
    if isinstance(plan, Plan):
        taken = taken_over(offered(state, told, plan.start), told) if plan.start is not None else None
        chosen, because = ((taken[0],), taken[1]) if taken is not None else (choices.presets, None)
        plan = with_presets(plan, chosen, choices.variables, because)
        plan = _saving(plan, choices.save)
    code = show(plan, action.name, yes=yes, out=out)
    if isinstance(plan, Refusal) and asked is None:  # it may lack the name of a session; later refusals lack other things
        out.writelines(f"{line}\n" for line in _sessions(planner, state, request, action.name))
    return code


def _saving(plan: Plan | Refusal, folder: str) -> Plan | Refusal:
    """The plan that saves first, where that is asked for; a refusal where nobody can save."""
    if not folder or isinstance(plan, Refusal):
        return plan
    if plan.saving is None:
        return Refusal("no process of the run can be asked to save: none has run `import hangtop.agent`, or it is stopped")
    return saved_first(plan, folder)


async def _advice(feed: Feed, spec: WatchSpec) -> tuple[Advice, ...]:
    """What is advised under the verdict of this moment."""
    return advised(*await verdict_once(feed, spec, None))[0]


async def _planned(planner: Planner, request: Request, feed: Feed) -> tuple[RunState, Plan | Refusal, tuple[Ask, ...] | None]:
    """What is known, the plan, and what was asked for it (`None`: nothing could be): first what it needs, then the answers."""
    state: RunState = RunState()
    asked: tuple[Ask, ...] | None = None
    reads_processes, first_look_s = "procs" in request.spec.sources, None
    needs = [need for need in planner.waits_for if need != "nodes" or request.spec.hosts]
    async for state, waited_s in looks(feed, FIRST_LOOK_S + planner.patience_s):
        if first_look_s is None and (not reads_processes or state.procs is not None or waited_s > FIRST_LOOK_S):
            first_look_s = waited_s
        if "processes" in planner.waits_for and state.procs is None and waited_s > FIRST_LOOK_S:
            break
        if first_look_s is None:
            continue
        if asked is None and all(_known(need, state, waited_s - first_look_s) for need in needs):
            found = planner.questions(state, request)
            if not isinstance(found, Refusal):
                asked = found
                for ask in asked:
                    feed.ask(ask)
            elif not state.ray or waited_s - first_look_s > SOURCES_S:  # what tells whose a Ray session is may still come
                return state, found, None
        if asked is not None and all(answered(state, ask) for ask in asked):
            return state, planner.plan(state, request, asked), asked
        if asked and (why := unanswered(state, *asked)) is not None:
            return state, Refusal(why), asked
    return state, Refusal(too_long(state)), asked


def _known(need: Need, state: RunState, waited_s: float) -> bool:
    """Whether this is known, or was waited for long enough."""
    log_is_read = state.log is None or state.log.caught_up
    match need:
        case "processes":
            if state.procs is None:
                return False
            told = nodes_told(state)
            return (told and bool(state.procs.processes)) or waited_s > (PROCESSES_S if told else NODES_S)
        case "nodes":
            return nodes_told(state) or waited_s > NODES_S
        case "gpus":
            return (told_once(state, "gpu") and gpus_read(state)) or waited_s > GPUS_S
        case "log":
            return settled(state) or waited_s > SOURCES_S
        case "ray":
            return ray_known(state) or waited_s > RAY_S
        case "every source":
            told = bool(state.health) and all(health.told for health in state.health.values())
            return (told and log_is_read) or (bool(state.ray) and waited_s > SOURCES_S)


def show(plan: Plan | Refusal, command: str, *, yes: bool, out: TextIO) -> int:
    """Print the plan of this command; with `yes` carry it out. Whether what it starts can start is looked at first."""
    if isinstance(plan, Refusal):
        out.write(f"hangtop {command}: {printable(say(plan.why))}\n")
        return 0 if plan.nothing_to_do else 2
    if plan.unseen and _guard_starts(plan):
        out.write(f"hangtop {command}: {say('the run may live on a node that cannot be seen: a guard starts nothing then')}\n")
        return 2
    if plan.unseen and yes and plan.start is not None:
        left_out = say("the run may live on a node that cannot be seen: leave it out of --hosts if it is gone")
        out.write(f"hangtop {command}: {left_out}: {printable('; '.join(plan.unseen))}\n")
        return 2
    if os.environ.get(FOR_GUARD) == "restart" and plan.word and plan.warnings:
        out.write(f"hangtop {command}: {say('a person must agree to this one:')} {printable(say(plan.warnings[-1]))}\n")
        return 2
    found = wait_for_start_check(ask) if (ask := fit_ask(plan)) is not None else Fit()
    plan = replace(plan, warnings=(*plan.warnings, *found.warnings))
    out.writelines(f"{line}\n" for line in lines(plan))
    if found.problems or not yes:
        launch_store.discard(start.environ_file for start in plan.ray)
    if found.problems:
        out.writelines(f"hangtop {command}: {say('it would not start')}: {say(problem)}\n" for problem in found.problems)
        out.write(say("nothing was done") + "\n")
        return 2
    if not yes:
        out.write(say(f"nothing was done: hangtop {command} … --yes does it") + "\n")
        return 0
    out.write(
        say(f"carried out by a process of its own, which goes on if this one ends; its steps are also in {log_path()}") + "\n"
    )
    if FOR_GUARD in os.environ:
        out.write(f"{AWAITS_GUARD}\n")
    out.flush()
    if FOR_GUARD in os.environ and not sys.stdin.readline():
        return 2  # the guard has ended before it had taken down that this begins: the next one plans it anew
    return asyncio.run(_carry_out(plan, out))


def _guard_starts(plan: Plan) -> bool:
    """Whether a guard has this carried out to start the run: by this plan, or by the command of its policy after it."""
    deed = os.environ.get(FOR_GUARD)
    return deed is not None and (plan.start is not None or deed == "restart")


def lines(plan: Plan) -> list[str]:
    """The plan word for word."""
    return [printable(say(plan.title)), *(f"  {plain(row)}".rstrip() for row in rows(plan, WIDTH))]


def _sessions(planner: Planner, state: RunState, request: Request, command: str) -> Iterator[str]:
    """The Ray sessions that may be meant, and how one is named."""
    if known := planner.sessions(state, request.me):
        heads, table = session_table(known, clock.now(), WIDTH)
        yield from (f"  {plain(row)}".rstrip() for row in (heads, *table))
        yield say(f"hangtop {command} --session NAME shows the plan for one of them")


async def _carry_out(plan: Plan, out: TextIO) -> int:
    kinds, work = set(), RunningPlan(plan)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, _break_off, work, out)
    async for step in work:
        kinds.add(step.kind)
        out.write("".join(f"{plain(row)}\n" for row in step_rows((step,), WIDTH)))
        out.flush()
    return 1 if kinds & {"survived", "failed"} else 0


def _break_off(work: RunningPlan, out: TextIO) -> None:
    """The first Ctrl-C; the second leaves the executor to itself."""
    work.break_off()
    asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
    out.write("breaking off: no further step is begun\n")
    out.flush()
