"""`hangtop diff`: where a bad run left a good one."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from hangtop.cli.commands import replay, watch
from hangtop.cli.commands.query import index_of_user, note
from hangtop.query.compare import Difference
from hangtop.query.database import Database, QueryError
from hangtop.query.differences import HEADINGS, Runs
from hangtop.query.runs import MOST_LOOKS, add_runs, is_recording, run_names, zone_shift_s
from hangtop.query.tables import TABLES
from hangtop.records.watch_spec import WatchSpec

SCHEMA = 1


def run(good: Path, bad: Path, *, as_json: bool) -> int:
    """Print the differences. Exit code 0: none, 1: some, 2: a file cannot be read."""
    try:
        with Database() as database:
            note(add_runs(database, (good, bad), " ".join(TABLES), index_of_user(), zone_shift_s(), MOST_LOOKS))
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


def show(good: Path, bad: Path, spec: WatchSpec, look: watch.WatchOptions) -> int:
    """The bad run on the screen, and over it the page of differences. Exit code 2 where there is no screen or no such file."""
    for path in (good, bad):
        if not path.is_file():
            sys.stderr.write(f"hangtop diff: {path}: no such file\n")
            return 2
    if not watch.can_draw():
        sys.stderr.write("hangtop diff: --screen needs a terminal; without it the differences are printed\n")
        return 2
    look = replace(look, compared=(str(good), str(bad)))
    return replay.run(bad, 1.0, look) if is_recording(bad) else watch.run(spec, look)


def _print(found: list[Difference]) -> None:
    if not found:
        click.echo("No difference beyond the good run's own spread.")
    for about, heading in HEADINGS.items():
        if lines := [each.line for each in found if each.about == about]:
            click.echo("\n".join((heading, *(f"  {line}" for line in lines), "")))
