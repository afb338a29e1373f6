"""The commands of the guard, with their options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hangtop.cli.options import WATCH, config_of, options, spec_of_run


@click.command()
@options(WATCH)
@click.option("--policy", type=click.Path(path_type=Path), metavar="FILE", help="What is done at which event: see GUIDE.md.")
@click.option("--notify", "urls", multiple=True, metavar="URL", help="Tell it there too (an address of Apprise); again for more.")
@click.option("--metrics", metavar="HOST:PORT", help="Offer figures to Prometheus.")
@click.option("--alive", type=click.Path(path_type=Path), metavar="FILE", help="A file that is touched at each look.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--print", "example", type=click.Choice(["systemd", "slurm", "k8s"]), help="Print an example of the guard as a service."
)
@click.argument("words", nargs=-1, metavar="[-- COMMAND …]")
def guard(words: tuple[str, ...], example: str | None, **given: Any) -> int:
    """Watch without a person: events as JSON lines, and what a policy wants done.

    With a command after -- the guard starts the run, hands signals on to it, and ends with its exit code; 75: it hung, and the
    guard ended it.
    """
    from hangtop.cli.commands import guard as command

    if example is not None:
        click.echo(command.service(example), nl=False)
        return 0
    config = config_of(given["config"])
    spec = spec_of_run(given, config)
    named = {name: given[name] for name in ("policy", "urls", "metrics", "alive", "dry_run")}
    return command.run(spec, command.GuardOptions(**named, read_only=config.read_only, words=words))


@click.command()
@click.option("--test", "urls", multiple=True, required=True, metavar="URL", help="An address of Apprise; again for more.")
def notify(urls: tuple[str, ...]) -> int:
    """Send a test notice to each address."""
    from hangtop.cli.commands import guard as command

    return command.test_notice(urls)
