"""`hangtop recover`: evidence, stop, clean, Ray, start and watch, as one plan, for scripts."""

from __future__ import annotations

import asyncio
from typing import TextIO

from hangtop.actions.execute.client import myself
from hangtop.actions.execute.evidence_commands import place
from hangtop.actions.plans import ray_plan, recovery_plan, restart_plan
from hangtop.cli.commands.stop import StartChanges, show
from hangtop.common import clock
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import looks, ray_known, settled, too_long
from hangtop.monitor.questions import unanswered
from hangtop.records.ask import Ask, RayAsk
from hangtop.records.plan import Plan, Refusal
from hangtop.records.watch_spec import WatchSpec

PATIENCE_S, SETTLE_S = 30.0, 6.0
NUMBER = 1
"""Of each question."""


def run(feed: Feed, spec: WatchSpec, changes: StartChanges, *, session: str = "", yes: bool, out: TextIO) -> int:
    """Print the plan; with `yes` carry it out. Exit code 0 done or shown, 1 not all is as it should be, 2 no plan.

    `session`: the Ray session that the person names."""
    return show(asyncio.run(_plan(feed, spec, session)), "recover", yes=yes, out=out, changes=changes)


async def _plan(feed: Feed, spec: WatchSpec, session: str) -> Plan | Refusal:
    """First the run and its Ray; then, of both, how they were started."""
    asked: RayAsk | Refusal | None = None
    sent: tuple[Ask, ...] = ()
    async for state, waited_s in looks(feed, PATIENCE_S):
        if not sent and ((settled(state) and ray_known(state)) or waited_s > SETTLE_S):
            sent = (restart_plan.launch_ask(state, NUMBER),)
            if name := session or recovery_plan.session_of(state, myself()):
                asked = ray_plan.ask_of(state, myself(), NUMBER, name)
            if isinstance(asked, Refusal):
                return asked
            if isinstance(asked, RayAsk):
                sent = (*sent, asked)
            for ask in sent:
                feed.ask(ask)
        if state.launch is not None and (not isinstance(asked, RayAsk) or state.ray_session is not None):
            return recovery_plan.recovery_plan(state, state.launch, state.ray_session, myself(), spec, None, place(clock.now()))
        if (why := unanswered(state, *sent)) is not None:
            return Refusal(why)
    return Refusal(too_long(state))
