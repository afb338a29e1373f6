"""The commands of the actions: `hangtop stop`, `hangtop ray restart` and their like, made from the list of actions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from hangtop.actions.registry import ACTIONS, Action, Choices, Option
from hangtop.cli.finite_range import FiniteRange
from hangtop.cli.options import PLAN, WATCH, config_of, options, spec_of_run, watch_spec
from hangtop.cli.told_help import ToldCommand, ToldGroup


def _presets(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> Any:
    """Exit 2 for a name that no preset has."""
    from hangtop.actions.plans.presets import named

    try:
        return named(names)
    except LookupError as error:
        raise click.UsageError(error.args[0]) from error


def _variables(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> Any:
    """Exit 2 for what is not NAME=VALUE."""
    from hangtop.actions.command_line.typed import CommandError, variables
    from hangtop.common.raw_text import from_os

    try:
        return variables([from_os(pair) for pair in pairs])
    except CommandError as error:
        raise click.UsageError(f"--env: {error}") from error


OPTIONS: dict[Option, Callable[[Any], Any]] = {
    "rank": click.option("--rank", type=int, metavar="N", help="Only this rank and what it started."),
    "older_s": click.option(
        "--older",
        "older_s",
        type=FiniteRange(min=0),
        default=10.0,
        callback=lambda _, __, minutes: 60 * minutes,
        metavar="MINUTES",
        help="Only what is older than this.  [default: 10]",
    ),
    "session": click.option(
        "--session", metavar="NAME", help="The Ray session, where none is proven to be the run's: its name or GCS address."
    ),
    "keep_logs": click.option("--keep-logs", is_flag=True, help="Leave the session's folder, which holds Ray's logs."),
    "plain": click.option(
        "--plain", is_flag=True, help="Refuse, naming each, while the plain `ray stop` would end anything else."
    ),
    "ray_options": click.option(
        "--option",
        "ray_options",
        multiple=True,
        metavar="NAME=VALUE",
        help="Another option of ray start; NAME= takes it out.",
    ),
    "presets": click.option(
        "--preset",
        "presets",
        multiple=True,
        callback=_presets,
        metavar="NAME",
        help="More debugging, tests, other time limits in the new run: nccl, recorder, no_ib, …; an unknown NAME lists them.",
    ),
    "as_it_was": click.option(
        "--as-it-was", is_flag=True, help="Start it as it was: take over no preset that the advice names. So does --preset."
    ),
    "save": click.option(
        "--save",
        default="",
        callback=lambda _, __, folder: os.path.abspath(folder) if folder else "",
        metavar="DIR",
        help="First have each rank that runs hangtop.agent save its weights there; if one fails, nothing is ended.",
    ),
    "variables": click.option(
        "--env",
        "variables",
        multiple=True,
        callback=_variables,
        metavar="NAME=VALUE",
        help="A variable of the new run's environment, for this start alone; again for more.",
    ),
}
"""How a command line sets each field of `Choices`."""


@click.group(cls=ToldGroup)
def ray() -> None:
    """Stop a Ray session of this machine, or start it again.

    Only this session's processes, never by name as `ray stop` does. The run's with --log, else --session NAME.
    """


def commands() -> Iterator[click.Command]:
    """One for each action; those of Ray in a group of their own."""
    for action in ACTIONS:
        group, _, name = action.name.rpartition(" ")
        command = click.command(name, help=action.about, cls=ToldCommand)(_planning(action))
        if group:
            ray.add_command(command)
        else:
            yield command
    yield ray


def _planning(action: Action) -> Callable[..., int]:
    """What its command does."""

    def plan(**given: Any) -> int:
        from hangtop.cli.commands import action as command

        config = config_of(given["config"])
        if config.read_only and given["yes"]:
            raise click.UsageError("read_only is set in the config: nothing may be stopped or removed")
        spec = spec_of_run(given, config) if action.needs == "log or pid" else watch_spec(given, config)
        if action.needs == "log" and not spec.logs:
            raise click.UsageError("which run? give --log PATH")
        choices = Choices(**{name: given[name] for name in action.options})
        return command.run(action, spec, choices, yes=given["yes"] and not given["dry_run"], out=sys.stdout)

    of_action = tuple(OPTIONS[name] for name in action.options)
    with_options: Callable[..., int] = options(WATCH, of_action, PLAN)(plan)
    return with_options
