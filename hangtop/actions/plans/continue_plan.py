"""Let the stopped processes of the run go on: the plan. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.actions.plans.stop_plan import chosen_processes, left_alone, number_of, targets_of
from hangtop.actions.registry import Planner, Request
from hangtop.records.ask import Ask
from hangtop.records.plan import Plan, Refusal
from hangtop.state.run_state import RunState


class ContinuePlanner(Planner):
    """`hangtop continue`. Which processes are the run's, and which of them may be signalled, is as in the plan of a stop."""

    def plan(self, state: RunState, request: Request, asked: Sequence[Ask]) -> Plan | Refusal:
        chosen = chosen_processes(state, request.me, request.choices.rank, request.choices.pid)
        if isinstance(chosen, Refusal):
            return chosen
        held = [(process, "a debugger holds it: end the debugger") for process in chosen.ours if process.state == "t"]
        others = [(process, why) for process, why in chosen.spared if process.state in ("T", "t")]
        spared = tuple(left_alone([*held, *others]))
        stopped = targets_of([process for process in chosen.ours if process.state == "T"])
        if not stopped:
            reasons = [f"{left.what}: {left.why}" for left in spared]
            return Refusal("; ".join((f"nothing of {chosen.what} that is yours is stopped", *reasons)), nothing_to_do=not spared)
        return Plan(
            action="continue",
            title=f"Continue {number_of(stopped)}" + (f" on {request.me.host}" if request.me.host else ""),
            targets=stopped,
            spared=spared,
            signal="SIGCONT",
        )
