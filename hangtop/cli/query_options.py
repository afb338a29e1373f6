"""The commands that ask what was seen: SQL over recordings and logs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from hangtop.cli.config import config_dir
from hangtop.cli.finite_range import FiniteRange
from hangtop.cli.options import WATCH, config_of, options, refuse_odd_name, spec_of_run, system_language, watch_look
from hangtop.cli.told_help import ToldCommand
from hangtop.records.watch_spec import ASKED_SOURCES, DEFAULT_SOURCES, DEFAULT_STALL_S, WatchSpec


@click.command(cls=ToldCommand)
@options(WATCH)
@click.option("--live", is_flag=True, help="Instead of a FILE: the run of --log, as one look shows it.")
@click.option("--recipe", metavar="NAME", help="A question from the list instead of SQL.")
@click.option("--recipes", "list_recipes", is_flag=True, help="List these questions.")
@click.option("--schema", is_flag=True, help="List tables and columns.")
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["table", "csv", "json", "md", "chart", "parquet"]),
    default="table",
    show_default=True,
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write there instead of to the terminal.")
@click.argument("words", nargs=-1, metavar="FILE … ['SELECT …']")
def query(words: tuple[str, ...], **given: Any) -> int:
    """Ask recordings or log files in SQL.

    \b
    hangtop query run.jsonl 'SELECT * FROM verdicts'
    hangtop query train.log --recipe slowest-steps
    hangtop query train.log "SELECT step, rank, value FROM metrics WHERE name = 'loss'" --format chart
    """
    from hangtop.cli.commands import query as command

    for word in words:
        refuse_odd_name(word)
    if given["schema"]:
        return command.tell_schema(sys.stdout)
    if given["list_recipes"]:
        return command.tell_recipes(sys.stdout)
    spec = spec_of_run(given, config_of(given["config"])) if given["live"] else None
    named = {name: given[name] for name in ("recipe", "wanted", "output")}
    return command.run(words, command.Wanted(**named), spec)


@click.command(cls=ToldCommand)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The folder to write to.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="FILE …")
def export(files: tuple[Path, ...], output: Path) -> int:
    """Write what recordings or log files tell as Parquet, a file for each table."""
    from hangtop.cli.commands import query as command

    for file in (*files, output):
        refuse_odd_name(str(file))
    return command.export(files, output)


@click.command(cls=ToldCommand)
@click.argument("good", type=click.Path(path_type=Path))
@click.argument("bad", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, schema 1.")
@click.option("--screen", "on_screen", is_flag=True, help="Show them on the screen, over the bad run itself.")
def diff(good: Path, bad: Path, *, as_json: bool, on_screen: bool) -> int:
    """Tell where a bad run left a good one: recordings or logs.

    Noise is told from change by the good run's own spread. Exit code 1: they differ.
    """
    from hangtop.cli.commands import diff as command

    for file in (good, bad):
        refuse_odd_name(str(file))
    if not on_screen:
        return command.run(good, bad, as_json=as_json)
    config = config_of(None)
    spec = WatchSpec(
        logs=(str(bad),),
        stall_s=config.stall or DEFAULT_STALL_S,
        sources=(*DEFAULT_SOURCES, *ASKED_SOURCES),
        config_dir=str(config_dir()),
        lang=config.lang or system_language(),
    )
    return command.show(good, bad, spec, watch_look({"plain": False, "calm": False, "read_only": False, "theme": None}, config))


@click.command(cls=ToldCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.svg|png", help="The picture to write instead of printing it."
)
@click.option("--theme", default="dark", show_default=True, metavar="NAME", help="Its colours, as those of the screen.")
def timeline(file: Path, output: Path | None, theme: str) -> int:
    """Draw a whole run on one axis of time: a recording, or a log.

    Verdicts, stages, pauses, steps, messages, restarts, saves, and of a recording what each rank did.
    """
    from hangtop.cli.commands import timeline as command

    return command.run(file, output, theme)


@click.command(cls=ToldCommand)
@options(WATCH)
@click.option("--seconds", type=FiniteRange(min=1), default=30.0, show_default=True, help="For so long.")
@click.option("--rate", type=click.IntRange(1, 100), default=20, show_default=True, help="Samples a second.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.json|svg", help="For speedscope, or a flame graph."
)
@click.option("--theme", default="dark", show_default=True, metavar="NAME", help="Its colours, as those of the screen.")
def profile(seconds: float, rate: int, output: Path | None, theme: str, **given: Any) -> int:
    """Sample what all ranks are in for a while, side by side, the odd ones first.

    No process is stopped; what it costs is said.
    """
    from hangtop.cli.commands import profile as command
    from hangtop.feeds.probe_feed import ProbeFeed

    spec = spec_of_run(given, config_of(given["config"]))
    return command.run(ProbeFeed(spec), command.ProfileOptions(seconds, rate, output, theme), sys.stdout, sys.stderr)


def commands() -> tuple[click.Command, ...]:
    """All commands of this file."""
    return query, export, diff, timeline, profile
