"""The commands of the guard, with their options."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from hangtop.cli.options import TELL, WATCH, config_of, options, spec_of_run, watch_spec
from hangtop.cli.told_help import ToldCommand

WATCHFUL = (
    *TELL,
    click.option(
        "--alive", metavar="FILE|HOST:PORT", help="Tell a supervisor that the guard looks: touched, or asked over HTTP."
    ),
    click.option("--dry-run", is_flag=True, help="Only say what would be done."),
)


@click.command(cls=ToldCommand)
@options(WATCH)
@click.option("--policy", type=click.Path(path_type=Path), metavar="FILE", help="What is done at which event: see GUIDE.md.")
@options(WATCHFUL)
@click.option(
    "--print",
    "example",
    type=click.Choice(["systemd", "slurm", "k8s", "grafana"]),
    help="Print an example of a service, or the dashboard.",
)
@click.argument("words", nargs=-1, metavar="[-- COMMAND …]")
def guard(words: tuple[str, ...], example: str | None, **given: Any) -> int:
    """Watch without a person: events as JSON lines, and what a policy wants done.

    Exit codes as of check. With a command after -- the guard starts the run, hands signals on to it, and ends with its exit code;
    75: it hung, and the guard ended it.
    """
    from hangtop.cli.commands import guard as command

    if example is not None:
        click.echo(command.service(example), nl=False)
        return 0
    config = config_of(given["config"])
    spec = spec_of_run(given, config)
    named = {name: given[name] for name in ("policy", "urls", "metrics", "alive", "dry_run")}
    return command.run(spec, command.GuardOptions(**named, read_only=config.read_only, words=words))


@click.command(cls=ToldCommand)
@options(WATCH)
@click.option("--guard", "policy", type=click.Path(path_type=Path), metavar="FILE", help="The policy: see GUIDE.md.")
@options(WATCHFUL)
@click.option("--events", type=click.Path(path_type=Path), metavar="FILE", help="Events as JSON lines, added to this file.")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND …")
def wrap(words: tuple[str, ...], **given: Any) -> int:
    """Run a command under a guard, in its place in a script.

    Its output comes out as before, and goes to --log FILE too (else hangtop-TIME.log); signals are handed on, the exit code is
    its own. 75: it hung, and the guard ended it: without a policy after ten minutes, with stacks and a bundle.
    """
    from hangtop.cli.commands import guard as command

    config = config_of(given["config"])
    logs = given.pop("logs") or (time.strftime("hangtop-%Y%m%d-%H%M%S.log"),)
    spec = spec_of_run({**given, "logs": logs}, config)
    named = {name: given[name] for name in ("policy", "urls", "metrics", "alive", "dry_run", "events")}
    return command.run(spec, command.GuardOptions(**named, read_only=config.read_only, words=words), wraps=True)


@click.command(cls=ToldCommand)
@click.option("--test", "urls", multiple=True, required=True, metavar="URL", help="An address of Apprise; again for more.")
def notify(urls: tuple[str, ...]) -> int:
    """Send a test notice to each address."""
    from hangtop.cli.commands import guard as command

    return command.test_notice(urls)


@click.command(cls=ToldCommand)
@options(WATCH)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE.png|svg", help="The file to write.")
def picture(output: Path, **given: Any) -> int:
    """Write a picture of the screen of this moment, for a report."""
    from hangtop.cli.commands import picture as command
    from hangtop.feeds.probe_feed import ProbeFeed

    spec = spec_of_run(given, config_of(given["config"]))
    return command.run(ProbeFeed(spec), spec, output, sys.stderr)


@click.command(cls=ToldCommand)
@options(WATCH)
def mcp(**given: Any) -> int:
    """Serve coding agents: a Model Context Protocol server on stdin and stdout.

    Tools check, stacks, explain, doctor, logs; they only read. With --log they may ask about that run alone.
    """
    from hangtop.cli.commands import mcp as command

    return command.run(watch_spec(given, config_of(given["config"])))
