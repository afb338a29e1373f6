"""The commands that change something: stop, restart, recover, clean. Each is one thin function, as in `hangtop.cli.main`.

All of them show their plan, and carry it out with --yes.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from hangtop.cli.options import PLAN, WATCH, carries_out, options, read_config, spec_of_run, watch_spec


def _presets(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> Any:
    """Exit 2 for a name that none has."""
    from hangtop.actions.plans.presets import named

    try:
        return named(names)
    except LookupError as error:
        raise click.UsageError(error.args[0]) from error


def _variables(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> Any:
    """Exit 2 for what is no NAME=VALUE."""
    from hangtop.actions.command_line.shell_text import CommandError
    from hangtop.actions.command_line.typed import variables
    from hangtop.common.raw_text import from_os

    try:
        return variables([from_os(pair) for pair in pairs])
    except CommandError as error:
        raise click.UsageError(f"--env: {error}") from error


CHANGES = (
    click.option(
        "--preset",
        "chosen",
        multiple=True,
        callback=_presets,
        metavar="NAME",
        help="More debugging, tests, other time limits in the new run: nccl, recorder, no_ib, …; an unknown NAME lists them.",
    ),
    click.option(
        "--env",
        "variables",
        multiple=True,
        callback=_variables,
        metavar="NAME=VALUE",
        help="A variable of the new run's environment, for this start alone; again for more.",
    ),
)


@click.command()
@options(WATCH, PLAN)
@click.option("--rank", type=int, metavar="N", help="Only this rank and what it started.")
@click.pass_context
def stop(context: click.Context, /, rank: int | None, **given: Any) -> None:
    """Stop the run, or one rank of it, and prove that it is gone.

    Prints its plan; only --yes carries it out: TERM, wait, KILL, children first. Signals only processes of this run that are
    yours, each checked again by its start time. Exit code 1: something survived.
    """
    from hangtop.cli.commands import stop as command
    from hangtop.feeds.probe_feed import ProbeFeed

    config = read_config(given["config"])
    yes = carries_out(given, config)
    spec = spec_of_run(given, config)
    context.exit(command.run(ProbeFeed(spec), rank, yes=yes, out=sys.stdout))


@click.command()
@options(WATCH, CHANGES, PLAN)
@click.pass_context
def restart(context: click.Context, /, chosen: tuple[Any, ...], variables: dict[str, str], **given: Any) -> None:
    """Stop the run and start it again as it was.

    With the same command, folder, environment and limits. Whether it can start is looked at before anything is ended. Prints its
    plan; only --yes carries it out. Exit code 1: something survived, or did not start; 2: it could not start, nothing was done.
    """
    from hangtop.cli.commands import run as command
    from hangtop.cli.commands.stop import StartChanges
    from hangtop.feeds.probe_feed import ProbeFeed

    config = read_config(given["config"])
    yes = carries_out(given, config)
    spec = spec_of_run(given, config)
    context.exit(command.restart_run(ProbeFeed(spec), spec, StartChanges(chosen, variables), yes=yes, out=sys.stdout))


@click.command()
@options(WATCH, CHANGES, PLAN)
@click.option("--session", default="", metavar="NAME", help="The run's Ray session, where nothing proves which it is.")
@click.pass_context
def recover(context: click.Context, /, chosen: tuple[Any, ...], variables: dict[str, str], session: str, **given: Any) -> None:
    """Do all that a hung run needs, up to the new start.

    Stacks, bundle, stop the run and its Ray session, clean up, start Ray and the run, watch it pass where it hung. Prints its
    plan; only --yes carries it out. Exit code 1: something survived, did not start, or has not passed that place in time.
    """
    from hangtop.cli.commands import recover as command
    from hangtop.cli.commands.stop import StartChanges
    from hangtop.feeds.probe_feed import ProbeFeed

    config = read_config(given["config"])
    yes = carries_out(given, config)
    spec = watch_spec(given, config)
    if not spec.logs:
        raise click.UsageError("which run? give --log PATH")
    changes = StartChanges(chosen, variables)
    context.exit(command.run(ProbeFeed(spec), spec, changes, session=session, yes=yes, out=sys.stdout))


@click.command()
@options(WATCH, PLAN)
@click.option(
    "--older", type=click.FloatRange(min=0), default=10.0, metavar="MINUTES", help="Only what is older than this.  [default: 10]"
)
@click.pass_context
def clean(context: click.Context, /, older: float, **given: Any) -> None:
    """Remove what dead runs left behind on this machine.

    Processes without a parent, shared memory, Ray sessions, dataset locks. Prints its plan; only --yes carries it out. Only
    what is yours, not in use and older than --older. Never a cache of models or compiled code. Exit code 1: something
    stayed.
    """
    from hangtop.cli.commands import clean as command
    from hangtop.feeds.probe_feed import ProbeFeed

    config = read_config(given["config"])
    yes = carries_out(given, config)
    spec = command.narrowed(watch_spec(given, config))
    context.exit(command.run(ProbeFeed(spec), older * 60, yes=yes, out=sys.stdout))
