"""`hangtop query` and `hangtop export`: SQL over what was seen of a run."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import click
from msgspec import Struct

from hangtop.cli.config import config_dir
from hangtop.common import clock
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import LiteralIndex, index_of
from hangtop.monitor.headless import settled
from hangtop.monitor.questions import unanswered
from hangtop.query.answers import WRITERS, Format, written
from hangtop.query.chart import all_charts
from hangtop.query.database import Answer, Database, QueryError
from hangtop.query.recipes import recipes
from hangtop.query.runs import LIVE, add_runs, rows_of, zone_shift_s
from hangtop.query.shown import shown
from hangtop.query.tables import TABLES, columns, summary
from hangtop.records.ask import StacksAsk
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from hangtop.translations import say

LIVE_S = 20.0
"""A look at a living run takes at most this long."""
STACKS_S = 5.0
"""The stacks of the run are waited for so long after all else was seen."""
LEAST_CHART_LINES = 12


class Wanted(Struct, frozen=True):
    """What the command line asks for. `wanted`: a format of `answers`, `chart`, or `parquet`."""

    recipe: str | None = None
    wanted: str = "table"
    output: Path | None = None


def run(words: Sequence[str], options: Wanted, live: WatchSpec | None) -> int:
    """Print the answer. Exit code 2, with one line, for what cannot be answered."""
    try:
        sql, paths = _question(words, options, is_live=live is not None)
        out = options.output
        if (
            out is not None
            and os.path.exists(out)
            and any(os.path.exists(path) and os.path.samefile(path, out) for path in paths)
        ):
            raise QueryError(f"{out} is what is asked: name another file for the answer")
        with Database() as database:
            if live is not None:
                database.fill(rows_of(LIVE, live, asyncio.run(_look(live))))
            note(add_runs(database, paths, sql, index_of_user(), zone_shift_s()))
            _answer(database, sql, options)
    except QueryError as error:
        sys.stderr.write(f"hangtop query: {say(str(error))}\n")
        return 2
    return 0


def export(paths: Sequence[Path], folder: Path) -> int:
    """Write a Parquet file for each table that has rows."""
    try:
        if not paths:
            raise QueryError("no file is named: hangtop export FILE … -o DIR")
        folder.mkdir(parents=True, exist_ok=True)
        with Database() as database:
            note(add_runs(database, paths, " ".join(TABLES), index_of_user(), zone_shift_s()))
            for path in database.write_parquet(folder):
                click.echo(path)
    except (QueryError, OSError) as error:
        sys.stderr.write(f"hangtop export: {say(str(error))}\n")
        return 2
    return 0


def tell_schema(out: TextIO) -> int:
    """Print the tables with their columns."""
    for name, row in TABLES.items():
        out.write(f"{name}: {summary(row)}\n")
        for column in columns(row):
            out.write(f"    {column.name:20} {column.type:8} {column.text}\n")
        out.write("\n")
    return 0


def tell_recipes(out: TextIO) -> int:
    """Print the questions of the list."""
    for recipe in recipes().values():
        out.write(f"{recipe.name:18} {recipe.asks}\n")
    return 0


def _question(words: Sequence[str], options: Wanted, *, is_live: bool) -> tuple[str, tuple[Path, ...]]:
    """The SQL, and the files that it is about."""
    if options.recipe is not None:
        if (recipe := recipes().get(options.recipe)) is None:
            raise QueryError(f"there is no recipe {options.recipe!r}: hangtop query --recipes lists them")
        sql, files = recipe.sql, words
    elif words:
        *files, sql = words
    else:
        raise QueryError("no question is asked: hangtop query FILE 'SELECT …'; --schema lists tables, --recipes questions")
    if not files and not is_live:
        raise QueryError("no file is named: hangtop query FILE 'SELECT …', or --live --log FILE")
    return sql, tuple(map(Path, files))


def _answer(database: Database, sql: str, options: Wanted) -> None:
    if options.wanted == "parquet":
        if options.output is None:
            raise QueryError("Parquet is no text: name a file with -o FILE.parquet")
        try:
            database.write_answer(sql, options.output)
        except OSError as error:
            raise QueryError(f"{options.output}: {error.strerror}") from error
        return
    answer = database.ask(sql)
    if options.wanted == "chart":
        lines = [f"{line}\n" for line in _charts(answer)]
    else:
        wanted: Format = next(name for name in WRITERS if name == options.wanted)
        lines = [f"{line}\n" for line in written(answer, wanted)]
    if options.output is None:
        sys.stdout.writelines(lines)
        return
    try:
        options.output.write_text("".join(lines))
    except OSError as error:
        raise QueryError(f"{options.output}: {error.strerror}") from error


def _charts(answer: Answer) -> Iterator[str]:
    width, height = shutil.get_terminal_size()
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    return all_charts(shown(answer, answer.rows), width, max(LEAST_CHART_LINES, height - 2), plain=plain)


async def _look(spec: WatchSpec) -> list[Reading]:
    """The readings of one look at the run, its stacks included."""
    feed, state = ProbeFeed(spec), RunState()
    readings: list[Reading] = []
    asked: StacksAsk | None = None
    loop = asyncio.get_running_loop()
    until = loop.time() + LIVE_S
    try:
        async for reading in feed.readings():
            readings.append(reading)
            state = fold(state, reading)
            if asked is None and settled(state):
                asked = StacksAsk(1, take_snapshot(state, spec, clock.now()).pids)
                feed.ask(asked)
                until = min(until, loop.time() + STACKS_S)
            told = asked is not None and (unanswered(state, asked) is not None or any(look.done for look in state.looks))
            if told or loop.time() > until:
                break
    finally:
        feed.close()
    return readings


def index_of_user() -> LiteralIndex:
    """The catalog with the user's own profiles and signatures."""
    return index_of(load(config_dir()))


def note(notes: Iterable[str]) -> None:
    """Say what could not be read."""
    for line in notes:
        sys.stderr.write(f"hangtop: {line}\n")
