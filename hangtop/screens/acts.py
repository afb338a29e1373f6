"""What each key of `ACT` opens. A plan is made of what is known at that moment, and frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hangtop.actions import stop
from hangtop.actions.perform import myself, perform
from hangtop.records.plan import Plan, Refusal
from hangtop.screens.confirm import ActionScreen

if TYPE_CHECKING:
    from hangtop.app import HangtopApp


def open_stop(app: HangtopApp) -> None:
    """Stop the chosen rank, else the run."""
    made = stop.plan(app.state, myself(), app.watch_screen.ranks_pane.chosen)
    plan = stop.doubted(made, app.view.verdict) if isinstance(made, Plan) else made
    number = stop.number_of(plan.targets) if not isinstance(plan, Refusal) else ""
    app.push_screen(ActionScreen(lambda: plan, perform, f"Stop {number}"))


ACTS: Mapping[str, Callable[[HangtopApp], None]] = {"stop": open_stop}
