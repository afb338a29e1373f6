"""The commands around the screen: what its keys are, and its pages as text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hangtop.cli.options import WATCH, config_of, keymap_of, options, spec_of_run, watch_spec
from hangtop.cli.told_help import ToldCommand
from hangtop.records.watch_spec import WatchSpec

if TYPE_CHECKING:
    from hangtop.feeds.probe_feed import Feed

CONFIG = click.option(
    "--config",
    "config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Config file instead of hangtop/config.toml in your config folder.",
)


@click.command(cls=ToldCommand)
@CONFIG
def keys(config: Path | None) -> int:
    """List what each key of the screen does, by the name that gives it another key in the config."""
    from hangtop.cli.commands import keys as command

    return command.run(keymap_of(config, config_of(config)), sys.stdout)


@click.command(cls=ToldCommand)
@options(WATCH)
@click.option("--rank", type=int, metavar="N", help="This rank.  [default: the one that stands out]")
@click.option("--with", "other", type=int, metavar="N", help="Beside this rank.  [default: the median of its peers]")
def compare(rank: int | None, other: int | None, **given: Any) -> int:
    """Print one rank beside another: facts, stacks with where they part, logs on one clock.

    The run is not stopped. Exit code 4: there are no two ranks to compare.
    """
    from hangtop.cli.commands import compare as command
    from hangtop.feeds.probe_feed import ProbeFeed

    spec = spec_of_run(given, config_of(given["config"]))
    return command.run(ProbeFeed(spec), spec, rank, other, sys.stdout)


@click.command(cls=ToldCommand)
@click.option("--log", type=click.Path(path_type=Path), required=True, metavar="FILE", help="A log of that kind of run.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE.toml", help="Write there, not to your profiles.")
@click.option("--step", metavar="TEXT", help="Not asked: text in the lines that count steps.")
@click.option("--stage", "stages", multiple=True, metavar="ID=TEXT", help="Not asked: a stage, and text that begins it.")
@click.option("--name", metavar="NAME", help="Not asked: the name of the profile.")
def init(log: Path, output: Path | None, step: str | None, stages: tuple[str, ...], name: str | None) -> int:
    """Make a profile for a framework that hangtop does not know, from a log, by three questions.

    Which line counts steps, which lines begin a stage, what it is called; what it would read is shown after each answer.
    """
    from hangtop.cli.commands import init as command

    config_of(None)
    ask = input if sys.stdin.isatty() and sys.stdout.isatty() else None
    return command.run(log, output, command.Answers(step, stages, name), sys.stdout, ask)


@click.command(cls=ToldCommand)
@options(WATCH)
@click.option("--tmux", is_flag=True, help="In tmux's own form, for its status line.")
@click.option("--json", "as_json", is_flag=True, help="All of them as JSON, schema 1.")
def status(*, tmux: bool, as_json: bool, **given: Any) -> int:
    """Print in one short line what is said of the runs here.

    \b
    set -g status-right '#(hangtop status --tmux)'    in ~/.tmux.conf

    What a running hangtop or guard says is told at once; otherwise the run of --log is looked at, as check does. Exit code as of
    check, of the gravest run; 4: nothing is known.
    """
    from hangtop.cli.commands import status as command

    spec = watch_spec(given, config_of(given["config"]))
    return command.run(spec, lambda: _probe_feed(spec), sys.stdout, tmux=tmux, as_json=as_json)


def _probe_feed(spec: WatchSpec) -> Feed:
    from hangtop.feeds.probe_feed import ProbeFeed

    return ProbeFeed(spec)


INSTALL = click.option("--install", is_flag=True, help="Put it where it is looked for, instead of printing it.")


@click.command(cls=ToldCommand)
@click.argument("shell", required=False, type=click.Choice(["bash", "zsh", "fish"]))
@INSTALL
@click.pass_context
def completion(context: click.Context, shell: str | None, *, install: bool) -> int:
    """Print or install the completion of commands and options for a shell; without a name for yours."""
    from hangtop.cli.commands import shell_files as command

    config_of(None)
    return command.completion(context.find_root().command, shell or command.shell_here(), sys.stdout, install=install)


@click.command(cls=ToldCommand)
@INSTALL
@click.pass_context
def man(context: click.Context, *, install: bool) -> int:
    """Print or install the man page: all commands with their options."""
    from hangtop.cli.commands import shell_files as command

    config_of(None)
    program = context.find_root().command
    assert isinstance(program, click.Group)
    return command.man(program, sys.stdout, install=install)


def commands() -> tuple[click.Command, ...]:
    """All commands of this file."""
    return keys, compare, status, init, completion, man
