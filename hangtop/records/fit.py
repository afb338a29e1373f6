"""Whether a start would succeed, asked before the old run is ended for it."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.plan import Plan, Start


class FitAsk(Struct, frozen=True, omit_defaults=True):
    """Can this be started? `removed`: paths that will be gone by then."""

    start: Start
    removed: tuple[str, ...] = ()


class Fit(Struct, frozen=True, omit_defaults=True):
    """The answer, one line each. `problems`: why it would not start; empty if nothing is in the way. `warnings`: what will not be
    as before, or could not be checked."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def fit_ask(plan: Plan) -> FitAsk | None:
    """The question to ask before this plan runs; `None` if it starts no run."""
    return None if plan.start is None else FitAsk(plan.start, tuple(removal.path for removal in plan.removals))
