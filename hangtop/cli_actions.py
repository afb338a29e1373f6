"""The commands that change something: stop, restart, recover, clean. Each is one thin function, as in `hangtop.cli`.

All of them show their plan, and carry it out with --yes.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from hangtop.options import WATCH, options, read_config, watch_spec


@click.command()
@options(WATCH)
@click.option("--rank", type=int, metavar="N", help="Only this rank and what it started.")
@click.option("--dry-run", is_flag=True, help="Only print the plan, as without --yes.")
@click.option("--yes", is_flag=True, help="Carry the plan out.")
@click.pass_context
def stop(context: click.Context, /, rank: int | None, dry_run: bool, yes: bool, **given: Any) -> None:
    """Stop the run, or one rank of it, and prove that it is gone.

    Prints its plan; only --yes carries it out: TERM, wait, KILL, children first. Signals only processes of this run that are
    yours, each checked again by its start time. Exit code 1: something survived.
    """
    from hangtop.commands import stop as command
    from hangtop.feeds import ProbeFeed

    config = read_config(given["config"])
    if config.read_only and yes:
        raise click.UsageError("read_only is set in the config: nothing may be stopped")
    spec = watch_spec(given, config)
    if not spec.logs and not spec.pids:
        raise click.UsageError("which run? give --log PATH or --pid PID")
    context.exit(command.run(ProbeFeed(spec), rank, yes=yes and not dry_run, out=sys.stdout))


@click.command()
@options(WATCH)
@click.option("--dry-run", is_flag=True, help="Only print the plan, as without --yes.")
@click.option("--yes", is_flag=True, help="Carry the plan out.")
@click.option(
    "--preset",
    "chosen",
    multiple=True,
    metavar="NAME",
    help="More debugging in the new run: nccl, recorder, …; an unknown NAME lists them.",
)
@click.pass_context
def restart(context: click.Context, /, dry_run: bool, yes: bool, chosen: tuple[str, ...], **given: Any) -> None:
    """Stop the run and start it again as it was.

    With the same command, folder and environment. Prints its plan; only --yes carries it out.
    Exit code 1: something survived, or did not start.
    """
    from hangtop.commands import run as command
    from hangtop.feeds import ProbeFeed

    config = read_config(given["config"])
    if config.read_only and yes:
        raise click.UsageError("read_only is set in the config: nothing may be stopped")
    spec = watch_spec(given, config)
    if not spec.logs and not spec.pids:
        raise click.UsageError("which run? give --log PATH or --pid PID")
    context.exit(command.restart_run(ProbeFeed(spec), spec, chosen, yes=yes and not dry_run, out=sys.stdout))


@click.command()
@options(WATCH)
@click.option("--dry-run", is_flag=True, help="Only print the plan, as without --yes.")
@click.option("--yes", is_flag=True, help="Carry the plan out.")
@click.option(
    "--preset",
    "chosen",
    multiple=True,
    metavar="NAME",
    help="More debugging in the new run: nccl, recorder, …; an unknown NAME lists them.",
)
@click.pass_context
def recover(context: click.Context, /, dry_run: bool, yes: bool, chosen: tuple[str, ...], **given: Any) -> None:
    """Do all that a hung run needs, up to the new start.

    Stacks, bundle, stop the run and its Ray session, clean up, start Ray and the run, watch it pass where it hung. Prints its
    plan; only --yes carries it out. Exit code 1: something survived, did not start, or has not passed that place in time.
    """
    from hangtop.commands import recover as command
    from hangtop.feeds import ProbeFeed

    config = read_config(given["config"])
    if config.read_only and yes:
        raise click.UsageError("read_only is set in the config: nothing may be stopped")
    spec = watch_spec(given, config)
    if not spec.logs:
        raise click.UsageError("which run? give --log PATH")
    context.exit(command.run(ProbeFeed(spec), spec, chosen, yes=yes and not dry_run, out=sys.stdout))


@click.command()
@options(WATCH)
@click.option(
    "--older", type=click.FloatRange(min=0), default=10.0, metavar="MINUTES", help="Only what is older than this.  [default: 10]"
)
@click.option("--dry-run", is_flag=True, help="Only print the plan, as without --yes.")
@click.option("--yes", is_flag=True, help="Carry the plan out.")
@click.pass_context
def clean(context: click.Context, /, older: float, dry_run: bool, yes: bool, **given: Any) -> None:
    """Remove what dead runs left behind on this machine.

    Processes without a parent, shared memory, Ray sessions, dataset locks. Prints its plan; only --yes carries it out. Only
    what is yours, not in use and older than --older. Never a cache of models or compiled code. Exit code 1: something
    stayed.
    """
    from hangtop.commands import clean as command
    from hangtop.feeds import ProbeFeed

    config = read_config(given["config"])
    if config.read_only and yes:
        raise click.UsageError("read_only is set in the config: nothing may be removed")
    spec = command.narrowed(watch_spec(given, config))
    context.exit(command.run(ProbeFeed(spec), older * 60, yes=yes and not dry_run, out=sys.stdout))
