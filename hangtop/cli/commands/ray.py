"""`hangtop ray stop` and `hangtop ray restart`: one session, from its plan to its proof, for scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Literal, TextIO

from msgspec.structs import replace

from hangtop.actions.execute.client import myself
from hangtop.actions.plans import ray_plan
from hangtop.cli.commands.stop import WIDE, show
from hangtop.common import clock
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import looks, too_long
from hangtop.monitor.questions import unanswered
from hangtop.records.ask import RayAsk
from hangtop.records.plan import Plan, Refusal
from hangtop.records.ray_session import RaySession
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.plan_rows import plain as in_words
from hangtop.render.ray.ray_sessions import session_table
from hangtop.state.run_state import RunState

PATIENCE_S, SETTLE_S = 20.0, 6.0
"""Without a log the processes of a run are not waited for; an answer of the dashboard is, for a moment."""
Verb = Literal["stop", "restart"]


def narrowed(spec: WatchSpec) -> WatchSpec:
    """Only the sources that this needs."""
    return replace(spec, sources=("ray", "procs", "log") if spec.logs or spec.pids else ("ray",))


def run(
    feed: Feed,
    verb: Verb,
    session: str,
    out: TextIO,
    *,
    options: Sequence[str] = (),
    keep_logs: bool = False,
    plain: bool = False,
    yes: bool = False,
) -> int:
    """Print the plan; with `yes` carry it out. Exit code 0 done or shown, 1 not all is as it should be, 2 no plan: then the
    sessions to choose from follow."""
    state, told = asyncio.run(told_of(feed, session))
    plan = _plan(state, told, verb, plain=plain) if isinstance(told, RaySession) else told
    if isinstance(plan, Plan):
        plan = ray_plan.with_options(ray_plan.without_folder(plan) if keep_logs else plan, options)
    code = show(plan, f"ray {verb}", yes=yes, out=out)
    if isinstance(told, Refusal):
        out.write("".join(f"{line}\n" for line in _choice(state, verb)))
    return code


def _plan(state: RunState, told: RaySession, verb: Verb, *, plain: bool) -> Plan | Refusal:
    if plain and (refused := ray_plan.plain_stop_refused(told, myself())) is not None:
        return refused
    return (ray_plan.stopped if verb == "stop" else ray_plan.restarted)(state, told, myself())


def _choice(state: RunState, verb: Verb) -> Iterator[str]:
    """The sessions that may be meant, and how one is named."""
    if known := ray_plan.candidates(state, myself()):
        heads, table = session_table(known, clock.now(), WIDE)
        yield from (f"  {in_words(row)}".rstrip() for row in (heads, *table))
        yield f"hangtop ray {verb} --session NAME shows the plan for one of them"


async def told_of(feed: Feed, session: str) -> tuple[RunState, RaySession | Refusal]:
    """What is known, and the session that the run lives in, or that is named."""
    asked: Refusal | None = None
    sent: RayAsk | None = None
    state = RunState()
    async for state, waited_s in looks(feed, PATIENCE_S):
        health = state.health.get("ray")
        if health is not None and (health.absent or health.problem):
            return state, Refusal(health.absent or health.problem or "")
        if sent is None and state.ray and (_looked(state) or waited_s > SETTLE_S):
            ask = ray_plan.ask_of(state, myself(), 1, session)
            if isinstance(ask, Refusal):
                asked = ask
                if waited_s > SETTLE_S:
                    break
            else:
                sent = ask
                feed.ask(ask)
        if sent is not None and state.ray_session is not None and state.ray_session.ask == sent.ask:
            return state, state.ray_session
        if sent is not None and (why := unanswered(state, sent)) is not None:
            return state, Refusal(why)
    return state, asked or Refusal(too_long(state))


def _looked(state: RunState) -> bool:
    """Every source of the watch has looked once, and the log is read to its end: its last attempt counts."""
    read = state.log is None or state.log.caught_up
    return read and bool(state.health) and all(health.told for health in state.health.values())
