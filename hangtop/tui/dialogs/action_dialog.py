"""An action from its plan to its proof, on one screen. What is shown is what is done: the plan is made once, when asked for.

Cancel is the default, so Enter twice does nothing; a plan with a word runs only after that word is typed.
"""

from __future__ import annotations

import textwrap
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from typing import Literal, cast

from textual import events
from textual.app import App

from hangtop.actions.command_line.typed import CommandError
from hangtop.actions.execute.client import RunningPlan, check_start
from hangtop.actions.plans.presets import Preset
from hangtop.actions.plans.stop_plan import number_of
from hangtop.monitor.questions import late, unanswered
from hangtop.records.ask import Ask
from hangtop.records.fit import Fit, FitAsk, fit_ask
from hangtop.records.plan import Plan, Refusal, Start, Step
from hangtop.render.plan_rows import fit_rows, preset_rows, rows, step_rows
from hangtop.render.spans import BLANK, Row, between, cut, width_of
from hangtop.render.view import View
from hangtop.tui.dialogs.action_foot import at_work, buttons, key_words
from hangtop.tui.dialogs.dialog import DialogScreen
from hangtop.tui.dialogs.start_changes import Edit, StartChanges
from hangtop.tui.panes.footer import key_at, words_at
from hangtop.tui.running_action import RunningAction
from hangtop.tui.widgets.line_edit import LineEdit
from hangtop.tui.widgets.row_widget import RowWidget

Phase = Literal["looking", "refused", "asking", "running", "over"]
Made = Plan | Refusal | None
LOOK_S = 0.25
FOOT_KEYS = {"Cancel": "escape", "Esc": "escape", "Enter": "enter", "→ Enter": "right", "←": "left", "x": "x"} | {
    "^E": "ctrl+e",
    "^N": "ctrl+n",
}
MARGIN = 4
"""Lines above and below the box, its border and padding among them."""


class ActionBody(RowWidget):
    """Title, then plan or steps; scrolls when there are more rows than lines."""

    DEFAULT_CSS = "ActionBody { height: auto; background: $surface; }"

    def show(self, view: View) -> None:
        screen = cast("ActionScreen", self.screen)
        width = max(1, self.size.width)
        title, *found = screen.rows(width)
        room = max(3, screen.size.height - 2 * MARGIN - 2)
        self.styles.height = min(len(found), room) + 2
        last = max(0, len(found) - room)
        screen.top = last if screen.follows else max(0, min(screen.top, last))
        shown = found[screen.top : screen.top + room]
        more = f"↑↓ lines {screen.top + 1}-{screen.top + len(shown)} of {len(found)}" if last else ""
        self.paint([cut(row, width) for row in (between(title, ((more, "warn"),), width), BLANK, *shown)])


class ActionFoot(RowWidget):
    """Buttons and keys. If they do not fit, the last key is left out: it is Esc."""

    DEFAULT_CSS = "ActionFoot { height: 1; margin: 1 0 0 0; background: $surface; }"

    def show(self, view: View) -> None:
        left, right = cast("ActionScreen", self.screen).foot()
        width = max(1, self.size.width)
        if width_of(left) + width_of(right) >= width:
            right = right[:-3]  # the spans of one key
        self.paint((between(left, right, width),))

    def on_click(self, event: events.Click) -> None:
        """Like the keys: a click on the button only arms it, a second one carries out the plan."""
        screen, row = cast("ActionScreen", self.screen), self.rows[0] if self.rows else ()
        key = screen.key_of(words_at(row, event.x)) or screen.key_of(key_at(row, event.x) or "")
        if key:
            self.app.simulate_key(key)


class ActionScreen(DialogScreen):
    """`make` gives the plan from what is known, `None` while something must still be read. `verb` is the word of the button.

    `run` carries a plan out. `at_once`: the plan changes nothing of the run, so nobody is asked.
    `asks`: the questions whose answers `make` waits for. `presets`: what digits may change in the start of the plan. `act`: the
    name of the key's action, by which it is found again when it was left under way. `fits`: says whether a start would succeed;
    until it has, and when it would not, Enter does nothing.
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
        fits: Callable[[FitAsk], Awaitable[Fit]] = check_start,
    ) -> None:
        super().__init__()
        self._make, self._run, self._verb, self._at_once = make, run, verb, at_once
        self._presets_for, self._act, self._fits = presets, act, fits
        self._asks, self._asked_at = asks, 0.0
        self.deed: RunningAction | None = None
        self.changes: StartChanges | None = None
        self.fit: Fit | None = None
        self._before: Phase = "looking"
        self.plan: Plan | None = None
        self.top = 0
        self.armed = False
        self.typed = ""
        self.edit: LineEdit | None = None
        self._edited: Edit | None = None
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
        if self.deed is None:
            return self._before
        return "over" if self.deed.over else "running"

    @property
    def steps(self) -> list[Step]:
        return [] if self.deed is None else self.deed.steps

    @property
    def follows(self) -> bool:
        """Steps scroll by themselves."""
        return self.phase == "running"

    def parts(self) -> Iterable[RowWidget]:
        self.set_class(self._at_once, "calm")
        yield ActionBody()
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

    def rows(self, width: int) -> list[Row]:
        """The title, then what is to be read."""
        if self.plan is None:
            said: list[Row] = [((line, "ink"),) for line in textwrap.wrap(self._why or self._late(), width)] or [BLANK]
            return [(("Nothing can be done" if self._why else "Looking …", "ink bold"),), *said]
        title: Row = ((self.plan.title, "ink bold" if self._at_once else "bad bold"),)
        if self.edit is not None and self._edited is not None:
            return [title, ((f"{self._edited.title}:", "muted"),), BLANK, *self.edit.rows(width)]
        if self.phase == "asking":
            fit = fit_rows(self.fit, width) if self.plan.start is not None else []
            return [title, *fit, *rows(self.plan, width, self._culprits), *self._preset_rows(width)]
        return [title, *step_rows(self.steps, width)]

    def _late(self) -> str:
        """Why an answer takes long."""
        app = self.hangtop
        said = (late(app.state, ask, app.now() - self._asked_at) for ask in self._asks)
        return next((words for words in said if words), "")

    def foot(self) -> tuple[Row, Row]:
        """(buttons, keys)."""
        if self.edit is not None:
            return BLANK, key_words((("Enter", "take it"), ("Esc", "leave it as it was")))
        match self.phase:
            case "asking":
                word = self.plan.word if self.plan else ""
                keys = [(edit.shown, edit.word) for edit in self._edits]
                return buttons(self._verb, armed=self.armed, word=word, typed=self.typed, edit=keys, blocked=self._blocked)
            case "running" if self.deed is not None:
                return at_work(self.deed)
            case _:
                return BLANK, key_words((("↑↓", "scroll"), ("Esc", "close")))

    def key_of(self, words: str) -> str:
        """The key for these words of the last line; empty for other words."""
        if words == self._verb:
            return "enter" if self.armed else "right"
        return FOOT_KEYS.get(words, "")

    def on_key(self, event: events.Key) -> None:
        """All keys: no other part of the program gets one while this is open."""
        event.stop()
        event.prevent_default()
        match event.key:
            case key if self.edit is not None and key not in ("ctrl+c", "ctrl+q"):
                self._edit(self.edit, key, event.character)
            case "escape":
                self._leave()
            case "ctrl+c" | "ctrl+q":
                self.hangtop.action_leave()
            case "up" | "down" | "pageup" | "pagedown":
                self.top += {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}[event.key]
            case "enter":
                self._enter()
            case key if self.phase == "asking":
                self._answer(key, event.character)
            case "x":
                if self.deed is not None:
                    self.deed.break_off()
            case "q":
                self.hangtop.action_leave()
        if self.is_current:
            self.show(self.hangtop.view)

    def _edit(self, line: LineEdit, key: str, character: str | None) -> None:
        """Change the plan: what is shown afterwards is what is done."""
        if key == "escape":
            self.edit = None
        elif key != "enter":
            line.press(key, character)
        else:
            assert self._edited is not None
            assert self.changes is not None
            try:
                self._edited.take(line.text)
            except CommandError as error:
                line.problem = str(error)
            else:
                self.edit = None
                self._changed(self.changes.plan)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.top += 3
        self.show(self.hangtop.view)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.top -= 3
        self.show(self.hangtop.view)

    def _settle(self, made: Made) -> None:
        match made:
            case Plan() as plan:
                self._verb = self._verb.format(number_of(plan.targets))
                self.plan, self._before = plan, "asking"
                verdict = self.hangtop.view.verdict
                culprits = verdict.culprits if verdict is not None else ()
                self._culprits = frozenset(culprit.rank for culprit in culprits if culprit.rank is not None)
                self.changes = StartChanges(plan, self._presets_for)
                self._changed(plan)
                if self._at_once:
                    self._begin(plan)
            case Refusal(why=why):
                self._why, self._before = why, "refused"

    def _answer(self, key: str, character: str | None) -> None:
        """Letters type the word of a dangerous plan; arrows go to the button and back."""
        word = self.plan.word if self.plan else ""
        if (edit := next((edit for edit in self._edits if edit.key == key), None)) is not None:
            self.edit, self._edited = LineEdit(edit.text), edit
        elif key.isdecimal() and self.changes is not None and self.changes.presets:
            self.changes.press(int(key))
            self._changed(self.changes.plan)
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

    def _preset_rows(self, width: int) -> list[Row]:
        if self.changes is None or self.plan is None or self.plan.start is None:
            return []
        return preset_rows(self.changes.page, self.changes.chosen, width, self.changes.others)

    @property
    def _blocked(self) -> str:
        """Why the plan cannot be carried out; empty when it can, or while that is checked."""
        return "it would not start" if self.fit is not None and self.fit.problems else ""

    @property
    def _may_begin(self) -> bool:
        return self.fit is not None and not self.fit.problems

    def _changed(self, plan: Plan) -> None:
        """Show the changed plan, and check again whether it can start."""
        if plan == self.plan and self.fit is not None:
            return
        ask = fit_ask(plan)
        self.plan, self.fit = plan, None if ask is not None else Fit()
        if ask is not None:
            self.run_worker(self._check_start(ask), name="fit", group="fit", exclusive=True)

    async def _check_start(self, ask: FitAsk) -> None:
        self.fit = await self._fits(ask)
        self.show(self.hangtop.view)

    def _enter(self) -> None:
        if self.phase == "running":
            return
        if self.phase == "asking" and self.armed and self.plan is not None:
            if self._may_begin:
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
