"""An action under way. It goes on whether or not a screen shows it, and its key shows it again."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable

from hangtop.actions.execute.client import RunningPlan
from hangtop.records.plan import Plan, Step


class RunningAction:
    """`act`: the name of the action. `verb`: the word on its button. `at_once`: it changes nothing of the run."""

    def __init__(self, act: str, verb: str, plan: Plan, work: AsyncIterable[Step], *, at_once: bool = False) -> None:
        self.act, self.verb, self.plan, self.at_once = act, verb, plan, at_once
        self.steps: list[Step] = []
        self.over = False
        self.breaking_off = False
        self._work = work

    @property
    def can_break_off(self) -> bool:
        return isinstance(self._work, RunningPlan)

    def break_off(self) -> None:
        """Begin no further step; the current one ends. The executor says what is left undone."""
        if not self.over and isinstance(self._work, RunningPlan):
            self.breaking_off = True
            self._work.break_off()

    async def carry_out(self, told: Callable[[], None]) -> None:
        """Run it to its end; `told` is called after each step."""
        async for step in self._work:
            self.steps.append(step)
            told()
        self.over = True
        told()
