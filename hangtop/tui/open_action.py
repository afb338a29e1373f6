"""What the key of an action opens: its plan on a dialog. A plan is made of what is known at that moment, and frozen."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Sequence
from functools import partial

from msgspec.structs import replace

from hangtop.actions.execute.client import RunningPlan, evidence_path, own_process
from hangtop.actions.plans.advised import offered
from hangtop.actions.plans.presets import Preset
from hangtop.actions.registry import Action, Choices, Request
from hangtop.actions.registry import action as action_named
from hangtop.monitor.questions import answered
from hangtop.records.nodes import pid_there
from hangtop.records.plan import Plan, Refusal, Start, Step
from hangtop.records.watch_spec import as_options
from hangtop.translations import say
from hangtop.tui.background_work import run_task
from hangtop.tui.dialogs.action_dialog import ActionScreen
from hangtop.tui.dialogs.question import Answer, QuestionScreen, RaySessionScreen
from hangtop.tui.keys import Key
from hangtop.tui.pages.stacks_page import StacksScreen
from hangtop.tui.shell import Shell


def open_action(app: Shell, name: str) -> None:
    """What the key with this action opens. Stacks and bundle change nothing of the run, and ask nobody."""
    match name:
        case "stacks":
            app.push_screen(StacksScreen())
        case "bundle":
            _open_bundle(app)
        case _:
            open_plan(app, action_named(name))


def open_plan(app: Shell, action: Action, choices: Choices | None = None) -> None:
    """The plan of an action. `choices`: what it is meant for, else what is chosen on the screen. Where no Ray session is proven
    to be the run's, a person names it first."""
    found: Choices | Refusal = Choices() if choices is None else choices
    if choices is None and "rank" in action.options:
        found = _chosen_part(app)
    if isinstance(found, Refusal):
        app.push_screen(ActionScreen(lambda: found, RunningPlan, action.verb, act=action.name))
        return
    planner = action.load_planner()
    if known := planner.sessions(app.state, own_process()):
        app.push_screen(
            RaySessionScreen(known, lambda name: _show(app, action, replace(found, session=name)), planner.no_session)
        )
    else:
        _show(app, action, found)


def _show(app: Shell, action: Action, choices: Choices) -> None:
    """Ask the probe what the plan needs to know, and show the plan once that is answered."""
    planner = action.load_planner()
    now = app.now()
    request = Request(own_process(), app.spec, now, choices, app.view.verdict, evidence_path(now))
    asked = planner.questions(app.state, request)
    asks = () if isinstance(asked, Refusal) else asked
    for ask in asks:
        app.feed.ask(ask)

    def make() -> Plan | Refusal | None:
        if isinstance(asked, Refusal):
            return asked
        return planner.plan(app.state, request, asks) if all(answered(app.state, ask) for ask in asks) else None

    presets = partial(_presets, app) if "presets" in action.options else lambda start: ()
    advice = app.view.advice if "as_it_was" in action.options else ()
    app.push_screen(ActionScreen(make, RunningPlan, action.verb, presets=presets, act=action.name, asks=asks, advice=advice))


def _chosen_part(app: Shell) -> Choices | Refusal:
    """The rank or process of the row that is chosen, else the whole run."""
    part, here = app.selection, own_process().host
    if part.alike == 0:
        return Refusal(say("no rank of this run is known there: choose another row, or none (Esc) for the run"))
    if part.alike > 1:
        return Refusal(
            say(f"this line stands for {part.alike} alike: unfold it (→) and choose one, or choose none (Esc) for the run")
        )
    if part.pid is not None and part.host and part.host != here and part.host not in app.state.nodes:
        return Refusal(say(f"pid {pid_there(part.pid)} is on {part.host}: run hangtop there"))
    return Choices(part.rank, part.pid)


def _presets(app: Shell, start: Start) -> Sequence[Preset]:
    """What may be changed in a start of this run: first what the advice of this moment names."""
    return offered(app.state, app.view.advice, start)


def _open_bundle(app: Shell) -> None:
    """The archive goes where hangtop was started."""
    place = f"{evidence_path(app.now())}.tar.gz"
    words = ("bundle", *as_options(app.spec), "-o", place)
    made: Plan | Refusal = Plan("bundle", say("Evidence for a bug report, secrets taken out"))
    if "-" in app.spec.logs:
        made = Refusal(say("a bundle reads the log again, which a pipe cannot give: hangtop bundle --log FILE -o FILE.tar.gz"))
    app.push_screen(ActionScreen(lambda: made, lambda plan: _bundling(app, words, place), "Bundle", at_once=True, act="bundle"))


async def _bundling(app: Shell, words: Sequence[str], place: str) -> AsyncIterator[Step]:
    """The steps of a bundle; where it is, once it is whole."""
    failed = False
    async for taken in run_task(words):
        failed = failed or taken.kind == "failed"
        yield taken
    if not failed:
        app.on_bundle(place)


class QuitScreen(QuestionScreen):
    """Asked before hangtop quits while a run that it started still lives. Every answer is immediate: the dialog reads nothing and
    waits for nothing. `q` a second time quits."""

    DEFAULT_CSS = "QuitScreen #box { max-width: 78; border: heavy $accent; }"

    def __init__(self, shell: Shell) -> None:
        log = shlex.quote(next(iter(shell.spec.logs), "LOG"))
        super().__init__(
            say("The run goes on when hangtop quits"),
            [((say("To watch it again: "), "muted"), (f"hangtop --log {log}", "ink"))],
            (
                Answer(say("Leave it running"), shell.action_leave, Key("q,ctrl+c,ctrl+q", "q", word="leave")),
                Answer(
                    say("Stop it …"),
                    lambda: open_plan(shell, action_named("stop"), Choices()),
                    Key("s", "s", word=say("stop it")),
                    True,
                ),
                Answer("Stay", lambda: None, Key("escape", "Esc", word="stay")),
            ),
        )
