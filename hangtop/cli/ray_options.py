"""The commands around Ray. Each is one thin function, as in `hangtop.cli.main`."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import click

from hangtop.cli.options import PLAN, WATCH, carries_out, options, read_config, watch_spec


@click.group()
def ray() -> None:
    """Stop a Ray session of this machine, or start it again.

    Only this session's processes, never by name as `ray stop` does. The run's with --log, else --session NAME.
    """


RAY = (
    click.option(
        "--session", default="", metavar="NAME", help="Which, where none is proven to be the run's: its name or GCS address."
    ),
    click.option("--keep-logs", is_flag=True, help="Leave the session's folder, which holds Ray's logs."),
)


@ray.command("stop")
@options(WATCH, RAY, PLAN)
@click.option("--plain", is_flag=True, help="Refuse, naming each, while the plain `ray stop` would end anything else.")
@click.pass_context
def ray_stop(context: click.Context, /, plain: bool, **given: Any) -> None:
    """Stop one Ray session, and clean up after it.

    Driver first, then raylet and the rest, GCS last. Prints its plan; only --yes carries it out. Exit code 1: something survived.
    """
    _ray(context, "stop", given, plain=plain)


@ray.command("restart")
@options(WATCH, RAY, PLAN)
@click.option("--option", "changes", multiple=True, metavar="NAME=VALUE", help="Another option of ray start; NAME= takes it out.")
@click.pass_context
def ray_restart(context: click.Context, /, changes: tuple[str, ...], **given: Any) -> None:
    """Stop one Ray session and start it again as it was.

    With the same options, after a clean-up. Prints its plan; only --yes carries it out. Exit code 1: something
    survived, did not start, or is not as it was.
    """
    _ray(context, "restart", given, changes=changes)


def _ray(context: click.Context, verb: Any, given: Any, *, changes: tuple[str, ...] = (), plain: bool = False) -> NoReturn:
    from hangtop.cli.commands import ray as command
    from hangtop.feeds.probe_feed import ProbeFeed

    config = read_config(given["config"])
    yes = carries_out(given, config)
    feed = ProbeFeed(command.narrowed(watch_spec(given, config)))
    context.exit(
        command.run(feed, verb, given["session"], sys.stdout, options=changes, keep_logs=given["keep_logs"], plain=plain, yes=yes)
    )
