"""What the advice under a verdict changes in a start: the presets that it names, and the one that a recovery takes over. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.actions.plans.presets import Because, Preset, presets_for
from hangtop.records.advice import Advice, causes_of
from hangtop.records.plan import Start
from hangtop.state.run_state import RunState


def offered(state: RunState, advice: Sequence[Advice], start: Start) -> tuple[Preset, ...]:
    """What may be changed in a start of this run: first what the advice names."""
    log = state.log
    frameworks = frozenset((log.framework or "", *log.profiles)) if log is not None else frozenset()
    named = list(dict.fromkeys(each.preset for each in advice if each.preset))
    order = {id_: number for number, id_ in enumerate(named)}
    return tuple(sorted(presets_for(frameworks, start), key=lambda preset: order.get(preset.id, len(order))))


def taken_over(fitting: Sequence[Preset], advice: Sequence[Advice]) -> tuple[Preset, Because] | None:
    """The first preset that the remedies of the likeliest cause name, and why. `None` where it does not fit this start, and where
    it is a test: that finds out what is wrong, and a run should not go on with it."""
    causes = list(causes_of(advice).values())
    named = next((each for each in causes[0] if each.preset), None) if causes else None
    preset = next((preset for preset in fitting if named is not None and preset.id == named.preset), None)
    if named is None or preset is None or preset.test:
        return None
    return preset, Because(preset.id, named.cause)
