"""What a person changes in the start of a plan before it is carried out: its command, presets, variables of their own. No
widget."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from hangtop.actions.command_line.typed import command, plain_words, shown, variables_in
from hangtop.actions.plans.presets import Preset, with_argv, with_presets
from hangtop.actions.plans.ray_plan import with_command
from hangtop.records.plan import Plan, Start

AT_ONCE = 9
"""So many presets are shown at a time: as many as there are digits to choose them by."""


class StartChanges:
    """`plan`: as it stands with all changes; what is shown is what is done. `presets_for`: what may be chosen for a start."""

    def __init__(self, plan: Plan, presets_for: Callable[[Start], Sequence[Preset]]) -> None:
        assert plan.start is not None
        self._as_made = plan
        self.presets = tuple(presets_for(plan.start))
        self.chosen: frozenset[str] = frozenset()
        self.own: dict[str, str] = {}
        self._first = 0
        self.plan = plan

    @property
    def page(self) -> Sequence[Preset]:
        """Those that digits choose now."""
        return self.presets[self._first : self._first + AT_ONCE]

    @property
    def others(self) -> int:
        """How many are not shown."""
        return len(self.presets) - len(self.page)

    @property
    def command(self) -> str:
        """Before any preset, as a person would type it."""
        assert self._as_made.start is not None
        return shlex.join(self._as_made.start.argv)

    @property
    def variables(self) -> str:
        return shown(self.own)

    def press(self, digit: int) -> None:
        """Choose the preset with this number, or take it back; 0 shows the next ones."""
        if digit == 0:
            self._first = self._first + AT_ONCE if self._first + AT_ONCE < len(self.presets) else 0
        elif digit <= len(self.page):
            self.chosen ^= {self.page[digit - 1].id}
        self._make()

    def take_command(self, text: str) -> None:
        """Raises `CommandError` with the reason why it starts nothing."""
        assert self._as_made.start is not None
        self._as_made = with_argv(self._as_made, command(text, self._as_made.start.shell))
        self._make()

    def take_ray(self, text: str) -> None:
        """How Ray is started before the run. Raises `CommandError`."""
        self._as_made = with_command(self._as_made, plain_words(text))
        self._make()

    def take_variables(self, text: str) -> None:
        """For this start alone. Raises `CommandError` for what is no list of NAME=value."""
        self.own = variables_in(text)
        self._make()

    def _make(self) -> None:
        self.plan = with_presets(self._as_made, (preset for preset in self.presets if preset.id in self.chosen), self.own)
