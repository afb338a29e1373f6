"""An action from its plan to its proof, on one screen. What is shown is what is done: the plan is made once, when asked for.

Cancel is the default, so Enter twice does nothing; a plan with a word runs only after that word is typed.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import Literal, cast

from textual import events
from textual.app import App

from hangtop.actions.command_line.typed import CommandError
from hangtop.actions.execute.client import RunningPlan, check_start
from hangtop.actions.plans.presets import Preset
from hangtop.actions.plans.stop_plan import number_of
from hangtop.common.text import wrap
from hangtop.monitor.questions import late, unanswered
from hangtop.records.advice import Advice
from hangtop.records.ask import Ask
from hangtop.records.plan import Fit, FitAsk, Plan, Refusal, Start, Step, fit_ask
from hangtop.render.plan_rows import fit_rows, preset_rows, rows, step_rows
from hangtop.render.spans import BLANK, Row, between, width_of
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.background_work import RunningAction
from hangtop.tui.dialogs.dialog import DialogBody, DialogScreen
from hangtop.tui.dialogs.start_changes import Edit, StartChanges
from hangtop.tui.keys import Key
from hangtop.tui.panes.footer import KeysLine, keys_row, words_at
from hangtop.tui.widgets.row_widget import RowWidget, Wheel

Phase = Literal["looking", "refused", "asking", "running", "over"]
Made = Plan | Refusal | None
LOOK_S = 0.25
MARGIN = 4
"""Lines above and below the box, its border and padding among them."""


class ActionFoot(KeysLine):
    """Buttons and keys. If they do not fit, the last key is left out: it is Esc."""

    DEFAULT_CSS = "ActionFoot { height: 1; margin: 1 0 0 0; background: $surface; }"

    @property
    def keys_there(self) -> tuple[Key, ...]:
        return cast("ActionScreen", self.screen).keys_there

    def show(self, view: View) -> None:
        left, keys, width = cast("ActionScreen", self.screen).buttons(), self.keys_there, max(1, self.size.width)
        right = keys_row(keys)
        if width_of(left) + width_of(right) >= width:
            right = keys_row(keys[:-1])
        self.paint((between(left, right, width),))

    def on_click(self, event: events.Click) -> None:
        """Like the keys: a click on the button only arms it, a second one carries out the plan."""
        if key := cast("ActionScreen", self.screen).key_of(words_at(self.row_at(0), event.x)):
            self.app.simulate_key(key)


class ActionScreen(Wheel, DialogScreen):
    """`make` gives the plan from what is known, `None` while something must still be read. `verb` is the word of the button.

    `run` carries a plan out. `at_once`: the plan changes nothing of the run, so nobody is asked.
    `asks`: the questions whose answers `make` waits for. `presets`: what digits may change in the start of the plan. `act`: the
    name of the key's action, by which it is found again when it was left under way. `advice`: what the start takes over of it is
    chosen from the beginning.
    """

    DEFAULT_CSS = """
    ActionScreen #box { max-width: 132; border: heavy $error; }
    ActionScreen.calm #box { border: heavy $accent; }
    ActionScreen.ascii #box { border: ascii $error; }
    """

    def __init__(
        self,
        make: Callable[[], Made],
        run: Callable[[Plan], AsyncIterable[Step]],
        verb: str,
        *,
        at_once: bool = False,
        presets: Callable[[Start], Sequence[Preset]] = lambda start: (),
        act: str = "",
        asks: Sequence[Ask] = (),
        advice: Sequence[Advice] = (),
    ) -> None:
        super().__init__()
        self._make, self._run, self._verb, self._at_once = make, run, verb, at_once
        self._presets_for, self._act = presets, act
        self._asks, self._asked_at, self._advice = asks, 0.0, advice
        self.deed: RunningAction | None = None
        self.changes: StartChanges | None = None
        self.plan: Plan | None = None
        self.fit: Fit | None = None  # until it is known whether the plan can start, Enter does nothing
        self.top = 0
        self.armed = False
        self.typed = ""
        self.edit: Edit | None = None
        self._why = ""
        self._culprits: frozenset[int] = frozenset()

    @classmethod
    def of(cls, deed: RunningAction) -> ActionScreen:
        """The screen of an action under way."""
        screen = cls(lambda: None, RunningPlan, deed.verb, at_once=deed.at_once, act=deed.act)
        screen.deed, screen.plan = deed, deed.plan
        return screen

    @property
    def phase(self) -> Phase:
        if self.deed is not None:
            return "over" if self.deed.over else "running"
        if self._why:
            return "refused"
        return "looking" if self.plan is None else "asking"

    @property
    def steps(self) -> list[Step]:
        return [] if self.deed is None else self.deed.steps

    def parts(self) -> Iterable[RowWidget]:
        self.set_class(self._at_once, "calm")
        yield DialogBody()
        yield ActionFoot()

    def on_mount(self) -> None:
        self._asked_at = self.hangtop.now()
        self.set_interval(LOOK_S, self.look)
        self.look()

    def look(self) -> None:
        """Make the plan as soon as it can be made, and once."""
        if self.phase == "looking":
            why = unanswered(self.hangtop.state, *self._asks)
            self._settle(self._make() or (None if why is None else Refusal(why)))
        self.show(self.hangtop.view)

    def rows(self, view: View, width: int) -> list[Row]:
        """Title, then the part of plan or steps that fits. Steps scroll by themselves."""
        title, *found = self._all_rows(width)
        room = max(3, self.size.height - 2 * MARGIN - 2)
        last = max(0, len(found) - room)
        self.top = last if self.phase == "running" else max(0, min(self.top, last))
        shown = found[self.top : self.top + room]
        more = say(f"↑↓ lines {self.top + 1}-{self.top + len(shown)} of {len(found)}" if last else "")
        return [between(title, ((more, "warn"),), width), BLANK, *shown]

    def _all_rows(self, width: int) -> list[Row]:
        if self.plan is None:
            lines: list[Row] = [((line, "ink"),) for line in wrap(say(self._why or self._late()), width)]
            return [((say("Nothing can be done" if self._why else "Looking …"), "ink bold"),), *lines]
        title: Row = ((say(self.plan.title), "ink bold" if self._at_once else "bad bold"),)
        if self.edit is not None:
            return [title, ((f"{self.edit.title}:", "muted"),), BLANK, *self.edit.rows(width)]
        if self.phase == "asking" and (changes := self.changes) is not None:
            presets = preset_rows(changes.page, changes.chosen, width, changes.others)
            return [title, *fit_rows(self.fit, width), *rows(self.plan, width, self._culprits), *presets]
        return [title, *step_rows(self.steps, width)]

    def _late(self) -> str:
        """Why an answer takes long."""
        app = self.hangtop
        lines = (late(app.state, ask, app.now() - self._asked_at) for ask in self._asks)
        return next((words for words in lines if words), "")

    def buttons(self) -> Row:
        """What stands at the left of the last line."""
        if self.deed is not None and self.phase == "running":
            return ((say("breaking off …"), "warn"),) if self.deed.breaking_off else ((say("at work …"), "muted"),)
        if self.phase != "asking" or self.plan is None or self.edit is not None:
            return BLANK
        if self._blocked:
            return ((say(" Cancel "), "accent reverse"), ("   ", ""), (say(f"{self._verb}: it would not start"), "muted"))
        if self.plan.word:
            return (
                (say(f"type {self.plan.word} "), "bad bold"),
                (f"{self.typed}_", "ink bold reverse" if self.armed else "ink bold"),
            )
        cancel, do = ("muted", "bad bold reverse") if self.armed else ("accent reverse", "bad bold")
        return ((say(" Cancel "), cancel), ("   ", ""), (f" {say(self._verb)} ", do))

    @property
    def keys_there(self) -> tuple[Key, ...]:
        if self.edit is not None:
            return (Key("enter", "Enter", word=say("take it")), Key("escape", "Esc", word=say("leave it as it was")))
        if self.deed is not None and self.phase == "running":
            break_off = (Key("x", "x", word=say("break off")),) if self.deed.can_break_off and not self.deed.breaking_off else ()
            return (*break_off, Key("escape", "Esc", word=say("back, it goes on")))
        if self.phase != "asking" or self.plan is None:
            return (Key(shown="↑↓", word="scroll"), Key("escape", "Esc", word="close"))
        return (*(edit.key for edit in self._edits), *self._answer_keys(self.plan.word), Key("escape", "Esc", word="cancel"))

    def _answer_keys(self, word: str) -> tuple[Key, ...]:
        """The keys that carry out the plan. `word`: what must be typed first."""
        do = self._verb.split()[0].lower()
        if self._blocked:
            return ()
        if word:
            return (Key("enter", "Enter", word=do if self.armed else "–" if self.typed else "cancel"),)
        if self.armed:
            return (Key("enter", "Enter", word=do), Key("left", "←", word="back"))
        return (Key("enter", "Enter", word="cancel"), Key("right", "→ Enter", word=do))

    def key_of(self, button: str) -> str:
        """The key that does what a button does; empty for other words."""
        if button == say(self._verb):
            return "enter" if self.armed else "right"
        return "escape" if button == say("Cancel") else ""

    @property
    def typing(self) -> bool:
        return self.edit is not None

    def press(self, key: str, character: str | None) -> None:
        match key:
            case "ctrl+c" | "ctrl+q":
                self.hangtop.action_leave()
            case _ if self.edit is not None:
                self._edit(self.edit, key, character)
            case "escape":
                self._leave()
            case "up" | "down" | "pageup" | "pagedown":
                self.top += {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}[key]
            case "enter":
                self._enter()
            case _ if self.phase == "asking":
                self._answer(key, character)
            case "x":
                if self.deed is not None:
                    self.deed.break_off()
            case "q":
                self.hangtop.action_leave()

    def _edit(self, edit: Edit, key: str, character: str | None) -> None:
        """Change the plan: what is shown afterwards is what is done."""
        if key == "escape":
            self.edit = None
        elif key != "enter":
            edit.press(key, character)
        else:
            try:
                edit.take(edit.text)
            except CommandError as error:
                edit.problem = str(error)
            else:
                self.edit = None
                self._changed()

    def wheel(self, rows: int) -> None:
        self.top += rows
        self.show(self.hangtop.view)

    def _settle(self, made: Made) -> None:
        match made:
            case Plan() as plan:
                self._verb = self._verb.format(number_of(plan.everywhere))
                self.plan, self.changes = plan, StartChanges(plan, self._presets_for, self._advice, self._folder())
                verdict = self.hangtop.view.verdict
                culprits = verdict.culprits if verdict is not None else ()
                self._culprits = frozenset(culprit.rank for culprit in culprits if culprit.rank is not None)
                self._changed()
                if self._at_once:
                    self._begin(plan)
            case Refusal(why=why):
                self._why = why

    def _folder(self) -> str:
        """Where weights are saved unless a person says otherwise: the folder that was given for checkpoints, else the log's."""
        spec = self.hangtop.spec
        return os.path.abspath(spec.checkpoint_dir or os.path.dirname(next(iter(spec.logs), "")))

    def _answer(self, key: str, character: str | None) -> None:
        """Letters type the word of a dangerous plan; arrows go to the button and back."""
        word = self.plan.word if self.plan else ""
        if (edit := next((edit for edit in self._edits if edit.key.keys == key), None)) is not None:
            self.edit = edit
        elif key.isdecimal() and self.changes is not None and self.changes.presets:
            self.changes.press(int(key))
            self._changed()
        elif word:
            if key == "backspace":
                self.typed = self.typed[:-1]
            elif character is not None and character.isprintable() and len(self.typed) < 2 * len(word):
                self.typed += character
            self.armed = self.typed == word
        elif key in ("right", "left", "tab", "shift+tab"):
            self.armed = key == "right" or (key == "tab" and not self.armed)
        elif key == "q":
            self.hangtop.action_leave()

    @property
    def _edits(self) -> list[Edit]:
        return [] if self.changes is None else list(self.changes.edits())

    @property
    def _blocked(self) -> bool:
        """Whether it is known that the plan cannot be carried out."""
        return self.fit is not None and bool(self.fit.problems)

    def _changed(self) -> None:
        """Show the changed plan, and check again whether it can start."""
        if self.changes is None or (self.changes.plan == self.plan and self.fit is not None):
            return
        self.plan = self.changes.plan
        ask = fit_ask(self.plan)
        self.fit = None if ask is not None else Fit()
        if ask is not None:
            self.run_worker(self._check_start(ask), name="fit", group="fit", exclusive=True)

    async def _check_start(self, ask: FitAsk) -> None:
        self.fit = await check_start(ask)
        self.show(self.hangtop.view)

    def _enter(self) -> None:
        if self.phase == "running":
            return
        if self.phase == "asking" and self.armed and self.plan is not None:
            if self.fit is not None and not self._blocked:
                self._begin(self.plan)
        elif not self.typed or self.phase != "asking":
            self._leave()

    def _leave(self) -> None:
        """Close. An action under way goes on, and its key shows it again; one that is over is forgotten."""
        if self.deed is not None and self.deed.over:
            self.hangtop.under_way.pop(self._act, None)
        self.dismiss()

    def _begin(self, plan: Plan) -> None:
        app = self.app
        self.deed = deed = RunningAction(self._act, self._verb, plan, self._run(plan), at_once=self._at_once)
        if self._act:
            self.hangtop.under_way[self._act] = deed
        app.run_worker(deed.carry_out(lambda: _told(app)), name="action", exclusive=False)


def _told(app: App[object]) -> None:
    """If the front screen shows an action, show its new step."""
    front = app.screen_stack[-1] if app.screen_stack else None  # none any more while it closes
    if isinstance(front, ActionScreen):
        front.look()
