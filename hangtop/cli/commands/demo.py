"""`hangtop demo`: start a real little run, watch it, and leave nothing of it behind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from hangtop.cli.commands.watch import WatchOptions, Wrap
from hangtop.cli.commands.watch import run as watch_run
from hangtop.common.text import some
from hangtop.demo.demo_run import DemoRun, demo_folder
from hangtop.demo.scenario import DemoError, Scenario, scenario, scenarios
from hangtop.records.verdict import STATES
from hangtop.records.watch_spec import DEFAULT_STALL_S, WatchSpec

SHOWN = frozenset(word for word, state in STATES.items() if state.ended or state.silent)
"""Plain output of a demo ends with these verdicts."""

Show = Callable[[WatchSpec, DemoRun, str], int]
"""Watches the run and returns the exit code. The text says what is shown, and the limit."""


def run(name: str | None, show: Show, spec: WatchSpec | None = None) -> int:
    """Start the scenario of this name (`None`: the default) in a folder of its own, show it, end it.

    `spec` holds what else was asked for on the command line; a stall limit asked for there stands. Raises `DemoError` when there
    is no such scenario or it cannot start.
    """
    plan = scenario(name)
    with demo_folder() as folder, DemoRun(plan, folder) as demo:
        watched = watch(plan, demo.log, spec or WatchSpec())
        limit = f"stall limit {watched.stall_s:g} s instead of {DEFAULT_STALL_S:g} s"
        return show(watched, demo, f"demo {plan.name}: {plan.title} · {limit} · its processes end with hangtop")


def watch(plan: Scenario, log: Path, spec: WatchSpec) -> WatchSpec:
    """What to watch: the demo's log, with its short stall limit unless one was asked for."""
    stall_s = plan.stall_s if spec.stall_s == DEFAULT_STALL_S else spec.stall_s
    return replace(spec, logs=(str(log),), stall_s=stall_s)


def show(name: str | None, spec: WatchSpec, look: WatchOptions, record: Callable[[WatchSpec], Wrap]) -> int:
    """Run the demo on the screen or as plain lines. Exit code 2 with one line if it cannot start."""

    def watched(shown: WatchSpec, _: DemoRun, text: str) -> int:
        sys.stderr.write(f"hangtop {text}\n")
        return watch_run(
            shown,
            replace(look, title=f"demo {name or scenarios()[0].name}, limit {shown.stall_s:g} s", until=SHOWN),
            record(shown),
        )

    try:
        return run(name, watched, spec)
    except DemoError as error:
        sys.stderr.write(f"hangtop demo: {error}\n")
        return 2


def listing() -> str:
    """All scenarios, one on each line, for `--list`."""
    width = max(len(plan.name) for plan in scenarios())
    default = scenarios()[0].name
    return "\n".join(
        f"{plan.name:<{width}}  {some(plan.world, 'process')}: {plan.title}" + (" (default)" if plan.name == default else "")
        for plan in scenarios()
    )
