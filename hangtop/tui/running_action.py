"""An action that was begun. It goes on whether or not a screen shows it, and can be shown again."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable

from hangtop.actions.execute.client import RunningPlan
from hangtop.records.plan import Plan, Step


class RunningAction:
    """`act`: the name of its key's action. `verb`: the word of its button. `at_once`: it changes nothing of the run."""

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
        """No further step; those that were begun end. What is left undone is told by the performer."""
        if not self.over and isinstance(self._work, RunningPlan):
            self.breaking_off = True
            self._work.break_off()

    async def carry_out(self, told: Callable[[], None]) -> None:
        """To its end; `told` is called after each step."""
        async for step in self._work:
            self.steps.append(step)
            told()
        self.over = True
        told()
