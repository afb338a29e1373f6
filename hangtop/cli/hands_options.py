"""The commands around the screen: what its keys are."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hangtop.cli.options import config_of, keymap_of
from hangtop.cli.told_help import ToldCommand

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


def commands() -> tuple[click.Command, ...]:
    """All commands of this file."""
    return (keys,)
