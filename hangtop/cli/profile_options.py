"""The commands around profiles. Each is one thin function, as in `hangtop.cli.main`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hangtop.cli.config import config_dir
from hangtop.cli.options import bad_data_said


@click.group()
def profiles() -> None:
    """Show and test the frameworks that hangtop knows, yours included."""


@profiles.command("list")
def profiles_list() -> None:
    """List all profiles, a line each."""
    from hangtop.cli.commands import profiles as command

    with bad_data_said():
        sys.exit(command.list_profiles(sys.stdout, config_dir()))


@profiles.command("show")
@click.argument("name")
def profiles_show(name: str) -> None:
    """Show stages, markers and limits of one profile."""
    from hangtop.cli.commands import profiles as command

    with bad_data_said():
        sys.exit(command.show(name, sys.stdout, config_dir()))


@profiles.command("test")
@click.argument("name", required=False)
@click.option("--log", type=click.Path(path_type=Path), metavar="FILE", help="Show what matches where in this log.")
@click.option("--profile", "extra", type=click.Path(path_type=Path), metavar="FILE", help="A profile that is not installed yet.")
def profiles_test(name: str | None, log: Path | None, extra: Path | None) -> None:
    """Prove a profile by its own examples.

    Checks every example, negative, literal and regex of it, or of all profiles; with --log also what matches where.
    """
    from hangtop.cli.commands import profiles as command

    with bad_data_said():
        sys.exit(command.prove(name, sys.stdout, config_dir(), log, extra))
