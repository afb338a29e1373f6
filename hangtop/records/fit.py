"""Whether a start would succeed, asked before anything is ended for it."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.plan import Plan, Start


class FitAsk(Struct, frozen=True, omit_defaults=True):
    """Can this be started? `removed`: paths that will be gone by then."""

    start: Start
    removed: tuple[str, ...] = ()


class Fit(Struct, frozen=True, omit_defaults=True):
    """The answer, a line each. `problems`: why it would not start; empty when nothing speaks against it. `warnings`: what will
    not be as before, or could not be seen."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def fit_ask(plan: Plan) -> FitAsk | None:
    """What must be known before this plan begins; `None` where it starts no run."""
    return None if plan.start is None else FitAsk(plan.start, tuple(removal.path for removal in plan.removals))
