"""Bare `hangtop`: the training runs on this machine, to choose from."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from shutil import get_terminal_size

import click
from msgspec.structs import replace

from hangtop.common import clock
from hangtop.common.text import duration, size, some
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.records.watch_spec import WatchSpec

PATIENCE_S = 5.0
NONE_FOUND = "no training run writes a log on this machine; name one: hangtop --log train.log, or see hangtop demo"


def choose(spec: WatchSpec) -> WatchSpec:
    """The spec with the chosen log. Exit 2 with one line if there is nothing to choose, or no terminal."""
    found = asyncio.run(find())
    if found.note:
        click.echo(found.note, err=True)
    if not found.candidates:
        raise click.UsageError(NONE_FOUND)
    click.echo("\n".join(listing(found.candidates, clock.now(), get_terminal_size().columns)))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("which of these? give --log PATH")
    number = click.prompt("Watch which", type=click.IntRange(1, len(found.candidates)), default=1)
    return replace(spec, logs=(found.candidates[number - 1].log,))


async def find() -> RunsReading:
    """Look once, in a probe: /proc may hold processes whose files do not answer."""
    feed = ProbeFeed(WatchSpec(sources=("runs",)))
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
            some(run.ranks, "rank") if run.ranks else "",
            "" if run.log_bytes is None else size(run.log_bytes),
            "" if run.log_modified_at is None else f"quiet {duration(max(0.0, now - run.log_modified_at))}",
            f"{run.command} via {run.via}" if run.via else run.command,
        )
        line = f"     {'  '.join(fact for fact in facts if fact)}"
        lines += [f"{number:>3}  {run.log}", line if len(line) <= columns else f"{line[: columns - 1]}…"]
    return lines
