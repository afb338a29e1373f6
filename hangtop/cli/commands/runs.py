"""Bare `hangtop`: the training runs on this machine, to choose from."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hangtop.cli.commands.watch import can_draw
from hangtop.common import clock
from hangtop.common.text import duration, size, some
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.spans import cut, plain
from hangtop.translations import say

if TYPE_CHECKING:
    from hangtop.cli.commands.watch import WatchOptions

PATIENCE_S = 5.0
RUNS = WatchSpec(sources=("runs",))
NONE_FOUND = "no training run writes a log on this machine; name one: hangtop --log train.log, or see hangtop demo"


def choose(spec: WatchSpec, look: WatchOptions) -> WatchSpec | None:
    """The spec with the log of the only run, or of the one that the person chooses; `None` if they choose none.

    Exit 2 with one line if there is nothing to choose, or no terminal.
    """
    found = asyncio.run(find())
    if not found.candidates:
        raise click.UsageError("; ".join(filter(None, (found.note, NONE_FOUND))))
    keys = sys.stdin.isatty() and sys.stdout.isatty()
    if keys and not look.as_lines and can_draw():
        log = found.candidates[0].log if len(found.candidates) == 1 else _on_screen(found, spec, look)
        return None if log is None else replace(spec, logs=(log,))
    if found.note:
        click.echo(found.note, err=True)
    click.echo("\n".join(listing(found.candidates, clock.now(), get_terminal_size().columns)))
    if not keys:
        raise click.UsageError("which of these? give --log PATH")
    number = click.prompt("Watch which", type=click.IntRange(1, len(found.candidates)), default=1)
    return replace(spec, logs=(found.candidates[number - 1].log,))


def _on_screen(found: RunsReading, spec: WatchSpec, look: WatchOptions) -> str | None:
    """All runs with their verdicts, until one is chosen."""
    from hangtop.monitor.look_at_run import look_at_run
    from hangtop.tui.runs_app import RunsApp
    from hangtop.tui.themes import ThemeError

    feed = ProbeFeed(RUNS)
    try:
        app = RunsApp(
            feed,
            lambda log: look_at_run(log, spec),
            runs=found.candidates,
            note=found.note,
            theme=look.theme,
            config_dir=spec.config_dir,
            keymap=look.keymap,
        )
        log = app.run()
    except ThemeError as error:
        raise click.UsageError(str(error)) from error
    finally:
        feed.close()
    if app.return_code:  # it broke, and has said why
        raise click.exceptions.Exit(app.return_code)
    return log


async def find() -> RunsReading:
    """Look once, in a probe: /proc may hold processes whose files do not answer."""
    feed = ProbeFeed(RUNS)
    started = time.monotonic()
    try:
        async for reading in feed.readings():
            if isinstance(reading.value, RunsReading):
                return reading.value
            if time.monotonic() - started > PATIENCE_S:
                break
    finally:
        feed.close()
    return RunsReading(note=f"looking at the processes of this machine took longer than {PATIENCE_S:.0f} s")


def listing(candidates: Sequence[RunCandidate], now: float, columns: int) -> list[str]:
    """Two lines a run: number and log; then framework, ranks, size, silence, and the command as far as it fits."""
    lines = []
    for number, run in enumerate(candidates, 1):
        facts = (
            run.framework,
            say(some(run.ranks, "rank")) if run.ranks else "",
            "" if run.log_bytes is None else size(run.log_bytes),
            "" if run.log_modified_at is None else say(f"quiet {duration(max(0.0, now - run.log_modified_at))}"),
            f"{run.command} {say(f'via {run.via}')}" if run.via else run.command,
        )
        line = f"     {'  '.join(fact for fact in facts if fact)}"
        lines += [f"{number:>3}  {run.log}", plain(cut(((line, "ink"),), columns))]
    return lines
