"""`hangtop ray stop` and `hangtop ray restart`: one session, from its plan to its proof, for scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, TextIO

from msgspec.structs import replace

from hangtop.actions import ray
from hangtop.actions.perform import myself
from hangtop.commands.stop import show
from hangtop.feeds import Feed
from hangtop.model import RunState
from hangtop.records.plan import Plan, Refusal
from hangtop.records.raysession import RaySession
from hangtop.session import TOO_LONG, looks
from hangtop.spec import WatchSpec

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
    """Print the plan; with `yes` carry it out. Exit code 0 done or shown, 1 not all is as it should be, 2 no plan."""
    plan = asyncio.run(_plan(feed, verb, session, plain=plain))
    if isinstance(plan, Plan):
        plan = ray.with_options(ray.without_folder(plan) if keep_logs else plan, options)
    return show(plan, f"ray {verb}", yes=yes, out=out)


async def _plan(feed: Feed, verb: Verb, session: str, *, plain: bool) -> Plan | Refusal:
    """First which session, then all of it."""
    state, told = await told_of(feed, session)
    if isinstance(told, Refusal):
        return told
    if plain and (refused := ray.plain_stop_refused(told, myself())) is not None:
        return refused
    return (ray.stopped if verb == "stop" else ray.restarted)(state, told, myself())


async def told_of(feed: Feed, session: str) -> tuple[RunState, RaySession | Refusal]:
    """What is known, and the session that the run lives in, or that is named."""
    asked: Refusal | None = None
    number, state = 0, RunState()
    async for state, waited_s in looks(feed, PATIENCE_S):
        health = state.health.get("ray")
        if health is not None and (health.absent or health.problem):
            return state, Refusal(health.absent or health.problem or "")
        if not number and state.ray and (_settled(state) or waited_s > SETTLE_S):
            ask = ray.ask_of(state, myself(), 1, session)
            if isinstance(ask, Refusal):
                asked = ask
                if waited_s > SETTLE_S:
                    break
            else:
                number = ask.ask
                feed.ask(ask)
        if state.ray_session is not None and state.ray_session.ask == number:
            return state, state.ray_session
    return state, asked or Refusal(TOO_LONG)


def _settled(state: RunState) -> bool:
    """Every source of the watch has looked once."""
    return bool(state.health) and all(health.told for health in state.health.values())
