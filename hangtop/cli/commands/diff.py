"""`hangtop diff`: where a bad run left a good one."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from hangtop.cli.commands.query import index_of_user, note
from hangtop.query.compare import Difference
from hangtop.query.database import Database, QueryError
from hangtop.query.differences import Runs
from hangtop.query.runs import add_runs, run_names, zone_shift_s
from hangtop.query.tables import TABLES

SCHEMA = 1
HEADINGS = {
    "end": "How they ended",
    "command": "How they were started",
    "finding": "Messages that only the bad run has",
    "pace": "Pace",
    "stage": "Stages",
    "metric": "Numbers of the training",
    "memory": "Memory",
    "gpu": "GPUs",
    "frame": "Where the ranks were",
}


def run(good: Path, bad: Path, *, as_json: bool) -> int:
    """Print the differences. Exit code 0: none, 1: some, 2: a file cannot be read."""
    try:
        with Database() as database:
            note(add_runs(database, (good, bad), " ".join(TABLES), index_of_user(), zone_shift_s()))
            found = Runs(database, *run_names((good, bad))).differences()
    except QueryError as error:
        sys.stderr.write(f"hangtop diff: {error}\n")
        return 2
    if as_json:
        document = {"schema": SCHEMA, "good": str(good), "bad": str(bad), "differences": found}
        click.echo(msgspec.json.encode(document).decode())
    else:
        _print(found)
    return 1 if found else 0


def _print(found: list[Difference]) -> None:
    if not found:
        click.echo("No difference beyond the good run's own spread.")
    for about, heading in HEADINGS.items():
        if lines := [each.line for each in found if each.about == about]:
            click.echo("\n".join((heading, *(f"  {line}" for line in lines), "")))
