"""What has become of a question to a source: it has ended, or the source is late, and by how much. Pure."""

from __future__ import annotations

from hangtop.model import RunState
from hangtop.records.ask import ANSWERED_BY, Ask, AskEnd, kind_of
from hangtop.text import duration

USUAL_S = 3.0
"""An answer that takes longer is late, if its source does not say that it needs longer."""


def end_of(state: RunState, ask: Ask) -> AskEnd | None:
    """Its end; `None` while it is on its way."""
    kind = kind_of(ask)
    return next((end for end in state.ask_ends if end.ask == ask.ask and end.kind == kind), None)


def unanswered(state: RunState, *asks: Ask | None) -> str | None:
    """Why one of these that were asked has ended without what was asked for; `None` while all may still be answered."""
    for ask in asks:
        if ask is not None and (end := end_of(state, ask)) is not None and end.problem is not None:
            return end.problem
    return None


def late(state: RunState, ask: Ask, asked_s: float) -> str | None:
    """What to say of an answer that takes long: which source has it, and since when. `asked_s`: how long ago it was asked.

    `None` while that is usual, and once it has ended.
    """
    if end_of(state, ask) is not None:
        return None
    name = ANSWERED_BY[type(ask)]
    if state.probe is not None and state.probe.problem is not None:
        return f"no answer for {duration(asked_s)}: {state.probe.problem}"
    health = state.health.get(name)
    if asked_s <= (USUAL_S if health is None else health.deadline_s):
        return None
    hangs = "" if health is None or health.busy_s <= health.deadline_s else f", which is busy for {duration(health.busy_s)}"
    trouble = "" if health is None or not health.problem else f": {health.problem}"
    return f"no answer for {duration(asked_s)} from the {name} source{hangs}{trouble}"
