"""The commands that look deeper into one living process."""

from __future__ import annotations

import sys
from typing import Any

import click

from hangtop.cli.options import WATCH, config_of, options, spec_of_run
from hangtop.cli.told_help import ToldCommand


@click.command(cls=ToldCommand)
@options(WATCH)
@click.option("--rank", "ranks", multiple=True, type=int, metavar="N", help="The process of this rank; again for more.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, schema 1.")
@click.argument("processes", nargs=-1, type=click.IntRange(min=1), metavar="[PID …]")
def inspect(processes: tuple[int, ...], ranks: tuple[int, ...], as_json: bool, **given: Any) -> int:
    """Print what the kernel tells of a process: where each thread stands, files, sockets, memory, limits, environment.

    \b
    hangtop inspect 4711
    hangtop inspect --log train.log --rank 3

    Nothing runs in the process and nothing stops it. Secrets are taken out. Exit code 4: no process could be read.
    """
    from hangtop.cli.commands import inspect as command

    config = config_of(given["config"])
    names: dict[int, str] = {}
    if ranks:
        from hangtop.feeds.probe_feed import ProbeFeed

        found, unknown = command.of_ranks(ProbeFeed(spec_of_run(given, config)), dict.fromkeys(ranks))
        names = {pid: f"rank {rank}" for rank, pid in found.items()}
        sys.stderr.write("".join(f"hangtop inspect: {line}\n" for line in unknown))
    else:
        processes = (*processes, *given["pids"])
    asked = tuple(dict.fromkeys((*names, *processes)))
    if not asked and not ranks:
        raise click.UsageError("which process? give its PID, or --log FILE --rank N")
    return command.run(asked, names=names, as_json=as_json, out=sys.stdout) if asked else 4


def commands() -> tuple[click.Command, ...]:
    return (inspect,)
