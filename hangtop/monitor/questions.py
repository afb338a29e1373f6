"""What has become of a question to a source: it has ended, or the source is late, and by how much. Pure."""

from __future__ import annotations

from hangtop.common.text import duration
from hangtop.records.ask import ANSWERED_BY, Ask, AskEnd, LaunchAsk, LeftoversAsk, RayAsk, kind_of
from hangtop.records.health import LATE_S
from hangtop.records.launch import LaunchReading
from hangtop.records.plan import LeftoversReading
from hangtop.records.ray.session import RaySession
from hangtop.state.run_state import RunState


def end_of(state: RunState, ask: Ask) -> AskEnd | None:
    """Its end; `None` while it is on its way."""
    kind = kind_of(ask)
    return next((end for end in state.ask_ends if end.ask == ask.ask and end.kind == kind), None)


def unanswered(state: RunState, *asks: Ask) -> str | None:
    """Why the answer to these does not come: one ended with a problem, or all ended. `None` while it may still come.

    Ask this only after the state was searched for the answer in vain.
    """
    ends = [end_of(state, ask) for ask in asks]
    if problem := next((end.problem for end in ends if end is not None and end.problem), None):
        return problem
    if not ends or None in ends:
        return None
    return f"the {ANSWERED_BY[type(asks[0])]} source had nothing to tell"


def late(state: RunState, ask: Ask, asked_s: float) -> str | None:
    """What to say of an answer that takes long: which source has it, and since when. `asked_s`: how long ago it was asked.

    `None` while that is usual, and once it has ended.
    """
    if end_of(state, ask) is not None:
        return None
    name = ANSWERED_BY[type(ask)]
    since = f"no answer for {duration(asked_s)}"
    if state.probe is not None and state.probe.problem is not None:
        return f"{since}: {state.probe.problem}"
    health = state.health.get(name)
    if asked_s <= (LATE_S if health is None else health.deadline_s):
        return None
    hangs = "" if health is None or not health.is_late else f", which is busy for {duration(health.busy_s)}"
    trouble = "" if health is None or not health.problem else f": {health.problem}"
    return f"{since} from the {name} source{hangs}{trouble}"


def answered(state: RunState, ask: Ask) -> bool:
    """Whether the answer to this question of an action is there."""
    answers: dict[type[Ask], LaunchReading | LeftoversReading | RaySession | None] = {
        LaunchAsk: state.launch,
        LeftoversAsk: state.leftovers,
        RayAsk: state.ray_session,
    }
    answer = answers[type(ask)]
    return answer is not None and answer.ask == ask.ask
