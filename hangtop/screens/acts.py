"""What each key of `ACT` opens. A plan is made of what is known at that moment, and frozen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hangtop.actions import clean, restart, stop
from hangtop.actions.perform import myself, perform
from hangtop.actions.presets import presets_for
from hangtop.records.ask import LeftoversAsk
from hangtop.records.plan import Plan, Refusal
from hangtop.screens.chosen import Chosen, chosen
from hangtop.screens.confirm import ActionScreen
from hangtop.screens.errand import errand
from hangtop.screens.stacks import StacksScreen
from hangtop.spec import WatchSpec

if TYPE_CHECKING:
    from hangtop.app import HangtopApp


def open_stop(app: HangtopApp) -> None:
    """Stop what is chosen, else the run."""
    _ask_to_stop(app, chosen(app))


def stop_run(app: HangtopApp) -> None:
    """Stop the whole run, whatever is chosen."""
    _ask_to_stop(app, Chosen())


def _ask_to_stop(app: HangtopApp, what: Chosen) -> None:
    me = myself()
    made: Plan | Refusal
    if what.alike > 1:
        made = Refusal(f"this line stands for {what.alike} alike: unfold it (→) and choose one, or choose none (Esc) for the run")
    elif what.pid is not None and what.host and what.host != me.host:
        made = Refusal(f"pid {what.pid} is on {what.host}: run hangtop there")
    else:
        made = stop.plan(app.state, me, what.rank, what.pid)
    plan = stop.doubted(made, app.view.verdict) if isinstance(made, Plan) else made
    number = stop.number_of(plan.targets) if not isinstance(plan, Refusal) else ""
    app.push_screen(ActionScreen(lambda: plan, perform, f"Stop {number}"))


def open_stacks(app: HangtopApp) -> None:
    app.push_screen(StacksScreen())


def open_bundle(app: HangtopApp) -> None:
    """The archive goes where hangtop was started."""
    place = Path.cwd() / f"hangtop-{time.strftime('%Y%m%d-%H%M%S', time.localtime(app.now()))}.tar.gz"
    words = ("bundle", *watched(app.spec), "-o", str(place))
    made: Plan | Refusal = Plan("bundle", "Evidence for a bug report, secrets taken out")
    if "-" in app.spec.logs:
        made = Refusal("a bundle reads the log again, which a pipe cannot give: hangtop bundle --log FILE -o FILE.tar.gz")
    app.push_screen(ActionScreen(lambda: made, lambda plan: errand(words), "Bundle", at_once=True))


def open_clean(app: HangtopApp) -> None:
    """The probe looks first; the plan is made of what it finds, once."""
    orphans = () if app.state.procs is None else app.state.procs.orphans
    ask = LeftoversAsk(int(app.now() * 1000), clean.OLDER_S, tuple(orphan.pid for orphan in orphans))
    app.feed.ask(ask)

    def make() -> Plan | Refusal | None:
        found = app.state.leftovers
        return clean.plan(app.state, found, myself(), app.now()) if found is not None and found.ask == ask.ask else None

    app.push_screen(ActionScreen(make, perform, "Clean up"))


def open_restart(app: HangtopApp) -> None:
    """The probe says how the run was started, while it still lives; the plan is made of that, once."""
    app.feed.ask(ask := restart.launch_ask(app.state, int(app.now() * 1000)))
    me, verdict = myself(), app.view.verdict

    def make() -> Plan | Refusal | None:
        told = app.state.launch
        if told is None or told.ask != ask.ask:
            return None
        return restart.answered(app.state, told, me, verdict, app.spec.logs)

    log = app.state.log
    fitting = presets_for(frozenset((log.framework or "", *log.profiles)) if log is not None else frozenset())
    app.push_screen(ActionScreen(make, perform, "Restart", presets=fitting))


def watched(spec: WatchSpec) -> tuple[str, ...]:
    """The options that make another hangtop watch the same run."""
    words = [word for log in spec.logs for word in ("--log", log)]
    words += [word for pid in spec.pids for word in ("--pid", str(pid))]
    words += ["--profile", spec.profile] if spec.profile else []
    words += ["--stall", str(spec.stall_s), "--ray", spec.ray]
    return (*words, *(("--ckpt", spec.checkpoint_dir) if spec.checkpoint_dir else ()))


ACTS: Mapping[str, Callable[[HangtopApp], None]] = {
    "stacks": open_stacks,
    "bundle": open_bundle,
    "clean": open_clean,
    "restart": open_restart,
    "stop": open_stop,
}
