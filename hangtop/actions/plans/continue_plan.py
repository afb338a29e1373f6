"""Let the stopped processes of the run go on: the plan. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.actions.plans.stop_plan import number_of, stop_plan
from hangtop.actions.registry import Planner, Request
from hangtop.common import text
from hangtop.records.ask import Ask
from hangtop.records.plan import LeftAlone, Plan, Refusal
from hangtop.state.run_state import RunState


class ContinuePlanner(Planner):
    """`hangtop continue`. Which processes are the run's, and which of them may be signalled, is as in the plan of a stop."""

    def plan(self, state: RunState, request: Request, asked: Sequence[Ask]) -> Plan | Refusal:
        whole = stop_plan(state, request.me, request.choices.rank, request.choices.pid)
        if isinstance(whole, Refusal):
            return whole
        stopped = tuple(target for target in whole.targets if target.state == "T")
        traced = [target.pid for target in whole.targets if target.state == "t"]
        held = (LeftAlone(text.numbered("pid", traced), "a debugger holds it: end the debugger"),) if traced else ()
        if not stopped:
            why = "nothing here is stopped" + "".join(f"; {left.what}: {left.why}" for left in held)
            return Refusal(why, nothing_to_do=not held)
        return Plan(
            action="continue",
            title=f"Continue {number_of(stopped)}" + (f" on {request.me.host}" if request.me.host else ""),
            targets=stopped,
            spared=(*whole.spared, *held),
            signal="SIGCONT",
        )
