"""What each key of `ACT` opens. A plan is made of what is known at that moment, and frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from hangtop.actions.execute import evidence_commands
from hangtop.actions.execute.client import carry_out, myself
from hangtop.actions.plans import clean_plan, ray_plan, recovery_plan, restart_plan, stop_plan
from hangtop.actions.plans.presets import Preset, presets_for
from hangtop.records.ask import RayAsk
from hangtop.records.plan import Plan, Refusal, Start
from hangtop.records.watch_spec import as_options
from hangtop.tui.dialogs.action_dialog import ActionScreen
from hangtop.tui.dialogs.ray_session_choice import RaySessionScreen
from hangtop.tui.pages.stacks_page import StacksScreen
from hangtop.tui.selection import Selection
from hangtop.tui.shell import Shell
from hangtop.tui.subprocess_task import run_task


def open_stop(app: Shell) -> None:
    """Stop what is chosen, else the run."""
    _ask_to_stop(app, app.selection)


def stop_run(app: Shell) -> None:
    """Stop the whole run, whatever is chosen."""
    _ask_to_stop(app, Selection())


def _ask_to_stop(app: Shell, what: Selection) -> None:
    me = myself()
    made: Plan | Refusal
    if what.alike == 0:
        made = Refusal("no rank of this run is known there: choose another row, or none (Esc) for the run")
    elif what.alike > 1:
        made = Refusal(f"this line stands for {what.alike} alike: unfold it (→) and choose one, or choose none (Esc) for the run")
    elif what.pid is not None and what.host and what.host != me.host:
        made = Refusal(f"pid {what.pid} is on {what.host}: run hangtop there")
    else:
        made = stop_plan.stop_plan(app.state, me, what.rank, what.pid)
    plan = stop_plan.doubted(made, app.view.verdict) if isinstance(made, Plan) else made
    number = stop_plan.number_of(plan.targets) if not isinstance(plan, Refusal) else ""
    app.push_screen(ActionScreen(lambda: plan, carry_out, f"Stop {number}", act="stop"))


def open_stacks(app: Shell) -> None:
    app.push_screen(StacksScreen())


def open_bundle(app: Shell) -> None:
    """The archive goes where hangtop was started."""
    words = ("bundle", *as_options(app.spec), "-o", f"{evidence_commands.place(app.now())}.tar.gz")
    made: Plan | Refusal = Plan("bundle", "Evidence for a bug report, secrets taken out")
    if "-" in app.spec.logs:
        made = Refusal("a bundle reads the log again, which a pipe cannot give: hangtop bundle --log FILE -o FILE.tar.gz")
    app.push_screen(ActionScreen(lambda: made, lambda plan: run_task(words), "Bundle", at_once=True, act="bundle"))


def open_clean(app: Shell) -> None:
    """The probe looks first; the plan is made of what it finds, once."""
    ask = clean_plan.ask_of(app.state, myself(), int(app.now() * 1000), app.now())
    app.feed.ask(ask)

    def make() -> Plan | Refusal | None:
        found = app.state.leftovers
        return (
            clean_plan.clean_plan(app.state, found, myself(), app.now()) if found is not None and found.ask == ask.ask else None
        )

    app.push_screen(ActionScreen(make, carry_out, "Clean up", act="clean", asks=(ask,)))


def open_restart(app: Shell) -> None:
    """The probe says how the run was started, while it still lives; the plan is made of that, once."""
    app.feed.ask(ask := restart_plan.launch_ask(app.state, int(app.now() * 1000)))
    me, verdict = myself(), app.view.verdict

    def make() -> Plan | Refusal | None:
        told = app.state.launch
        if told is None or told.ask != ask.ask:
            return None
        return restart_plan.answered(app.state, told, me, verdict, app.spec.logs)

    app.push_screen(ActionScreen(make, carry_out, "Restart", presets=_presets(app), act="restart", asks=(ask,)))


def open_ray(app: Shell, name: str = "") -> None:
    """The probe describes the session while it lives; the plan is made of that, once. Where none is proven to be the run's, a
    person names it first."""
    me, number = myself(), int(app.now() * 1000)
    verdict = app.view.verdict
    if not name and not ray_plan.is_proven(app.state, me):
        app.push_screen(RaySessionScreen(ray_plan.candidates(app.state, me), partial(open_ray, app)))
        return
    ask = ray_plan.ask_of(app.state, me, number, name)
    if isinstance(ask, RayAsk):
        app.feed.ask(ask)

    def make() -> Plan | Refusal | None:
        if isinstance(ask, Refusal):
            return ask
        told = app.state.ray_session
        made = ray_plan.restarted(app.state, told, me) if told is not None and told.ask == number else None
        return replace(stop_plan.doubted(made, verdict), word=made.word) if isinstance(made, Plan) else made

    app.push_screen(ActionScreen(make, carry_out, "Restart Ray", act="ray", asks=(ask,) if isinstance(ask, RayAsk) else ()))


def open_recover(app: Shell) -> None:
    """Where the run may be on Ray and no session is proven to be its own, a person names it first, or leaves Ray as it is."""
    me = myself()
    if recovery_plan.must_ask(app.state, me):
        known = ray_plan.candidates(app.state, me)
        app.push_screen(RaySessionScreen(known, partial(_recover, app), "none of these: leave Ray as it is"))
        return
    _recover(app, recovery_plan.session_of(app.state, me))


def _recover(app: Shell, name: str) -> None:
    """Both the run and its Ray session, where one is named, are described first; then one plan of all."""
    me, number = myself(), int(app.now() * 1000)
    app.feed.ask(asked := restart_plan.launch_ask(app.state, number))
    session = ray_plan.ask_of(app.state, me, number, name) if name else None
    if isinstance(session, RayAsk):
        app.feed.ask(session)
    asks = (asked, session) if isinstance(session, RayAsk) else (asked,)
    verdict, place = app.view.verdict, evidence_commands.place(app.now())

    def make() -> Plan | Refusal | None:
        if isinstance(session, Refusal):
            return session
        launch, told = app.state.launch, app.state.ray_session
        if launch is None or launch.ask != asked.ask:
            return None
        if isinstance(session, RayAsk) and (told is None or told.ask != number):
            return None
        return recovery_plan.recovery_plan(
            app.state, launch, told if isinstance(session, RayAsk) else None, me, app.spec, verdict, place
        )

    app.push_screen(ActionScreen(make, carry_out, "Recover", presets=_presets(app), act="recover", asks=asks))


def _presets(app: Shell) -> Callable[[Start], Sequence[Preset]]:
    """What may be changed in a start of this run."""
    log = app.state.log
    frameworks = frozenset((log.framework or "", *log.profiles)) if log is not None else frozenset()
    return lambda start: presets_for(frameworks, start)


ACTS: Mapping[str, Callable[[Shell], None]] = {
    "stacks": open_stacks,
    "bundle": open_bundle,
    "clean": open_clean,
    "ray": open_ray,
    "recover": open_recover,
    "restart": open_restart,
    "stop": open_stop,
}
