"""What a person can change in a plan before it is carried out: what is saved first, the command, how Ray starts, presets,
variables. No widget."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from hangtop.actions.command_line.typed import command, plain_words, shown, variables_in
from hangtop.actions.plans.advised import taken_over
from hangtop.actions.plans.presets import Because, Preset, with_argv, with_presets
from hangtop.actions.plans.ray_plan import with_command
from hangtop.actions.plans.saving import saved_first
from hangtop.records.advice import Advice
from hangtop.records.plan import Plan, Start
from hangtop.render.spans import Row
from hangtop.translations import say
from hangtop.tui.keys import Key

AT_ONCE = 9
"""So many presets are shown at a time: as many as there are digits to choose them by."""


class Edit:
    """A line of the plan that a person edits: `text` with the cursor at `place`. `key` opens it. `take` changes the plan, and
    raises `CommandError` for a text that it cannot take; `problem` says why."""

    def __init__(self, key: Key, title: str, text: str, take: Callable[[str], None]) -> None:
        self.key, self.title, self.text, self.take = key, title, text, take
        self.place = len(text)
        self.problem = ""

    def press(self, key: str, character: str | None) -> None:
        """Move and edit as in a shell."""
        self.problem = ""
        match key:
            case "left" | "ctrl+b":
                self.place = max(0, self.place - 1)
            case "right" | "ctrl+f":
                self.place = min(len(self.text), self.place + 1)
            case "home" | "ctrl+a" | "up":
                self.place = 0
            case "end" | "ctrl+e" | "down":
                self.place = len(self.text)
            case "backspace" if self.place:
                self.text, self.place = self.text[: self.place - 1] + self.text[self.place :], self.place - 1
            case "delete" | "ctrl+d":
                self.text = self.text[: self.place] + self.text[self.place + 1 :]
            case "ctrl+w":
                start = self.text.rstrip()[: self.place].rstrip().rfind(" ", 0, self.place) + 1
                self.text, self.place = self.text[:start] + self.text[self.place :], start
            case _ if character is not None and character.isprintable():
                self.text, self.place = self.text[: self.place] + character + self.text[self.place :], self.place + 1

    def rows(self, width: int) -> list[Row]:
        """The line, broken at the width, with its cursor."""
        shown, found = f"{self.text} ", list[Row]()
        for start in range(0, len(shown), max(1, width)):
            part, at = shown[start : start + width], self.place - start
            if 0 <= at < len(part):
                found.append(((part[:at], "ink"), (part[at], "ink reverse"), (part[at + 1 :], "ink")))
            else:
                found.append(((part, "ink"),))
        return [*found, *(((self.problem, "bad"),) for _ in range(bool(self.problem)))]


class StartChanges:
    """`plan`: with all changes; what is shown is what is done. `presets_for`: the presets that fit a start. `advice`: its preset
    is chosen from the beginning. `folder`: the one that is offered for weights."""

    def __init__(
        self,
        plan: Plan,
        presets_for: Callable[[Start], Sequence[Preset]],
        advice: Sequence[Advice] = (),
        folder: str = ".",
    ) -> None:
        self._as_made = plan
        self.presets = tuple(presets_for(plan.start)) if plan.start is not None else ()
        self.chosen: frozenset[str] = frozenset()
        self.own: dict[str, str] = {}
        self._folder, self._saves_to = folder, ""
        self._first = 0
        self.plan = plan
        self._because: Because | None = None
        if (taken := taken_over(self.presets, advice)) is not None:
            digit = self.presets.index(taken[0]) + 1
            self._because = replace(taken[1], leave_out=f"{digit} takes it back")
            self.press(digit)

    def edits(self) -> Iterator[Edit]:
        plan = self._as_made
        if plan.saving is not None:
            title = say("Save the weights first, into this folder (empty: do not)")
            yield Edit(Key("ctrl+s", "^S", word=say("save first")), title, self._saves_to or self._folder, self._take_folder)
        if plan.ray:
            how = shlex.join(plan.ray[0].argv)
            yield Edit(Key("ctrl+e", "^E", word=say("edit how Ray starts")), say("How Ray is started"), how, self._take_ray)
        elif plan.start is not None:
            yield Edit(Key("ctrl+e", "^E", word="edit"), say("The command"), shlex.join(plan.start.argv), self._take_command)
        if plan.start is not None:
            title = say("Variables for this start alone, NAME=value each")
            yield Edit(Key("ctrl+n", "^N", word="variables"), title, shown(self.own), self._take_variables)

    @property
    def page(self) -> Sequence[Preset]:
        """The presets that digits choose now."""
        return self.presets[self._first : self._first + AT_ONCE]

    @property
    def others(self) -> int:
        return len(self.presets) - len(self.page)

    def press(self, digit: int) -> None:
        """Choose the preset with this number, or take it back; 0 shows the next ones."""
        if digit == 0:
            self._first = self._first + AT_ONCE if self._first + AT_ONCE < len(self.presets) else 0
        elif digit <= len(self.page):
            self.chosen ^= {self.page[digit - 1].id}
        self._make()

    def _take_command(self, text: str) -> None:
        assert self._as_made.start is not None
        self._as_made = with_argv(self._as_made, command(text, self._as_made.start.shell))
        self._make()

    def _take_ray(self, text: str) -> None:
        self._as_made = with_command(self._as_made, plain_words(text))
        self._make()

    def _take_folder(self, text: str) -> None:
        self._saves_to = os.path.abspath(os.path.expanduser(text.strip())) if text.strip() else ""
        self._make()

    def _take_variables(self, text: str) -> None:
        self.own = variables_in(text)
        self._make()

    def _make(self) -> None:
        chosen = (preset for preset in self.presets if preset.id in self.chosen)
        made = with_presets(self._as_made, chosen, self.own, self._because)
        self.plan = saved_first(made, self._saves_to) if self._saves_to else made
