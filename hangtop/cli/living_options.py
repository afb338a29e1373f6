"""The commands that look deeper into one living process."""

from __future__ import annotations

import sys
from typing import Any

import click

from hangtop.cli.finite_range import FiniteRange
from hangtop.cli.options import WATCH, config_of, options, spec_of_run, watch_spec
from hangtop.cli.told_help import ToldCommand
from hangtop.translations import say


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
        sys.stderr.write("".join(f"hangtop inspect: {say(line)}\n" for line in unknown))
    else:
        processes = (*processes, *given["pids"])
    asked = tuple(dict.fromkeys((*names, *processes)))
    if not asked and not ranks:
        raise click.UsageError("which process? give its PID, or --log FILE --rank N")
    return command.run(asked, names=names, as_json=as_json, out=sys.stdout) if asked else 4


def _arguments(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


@click.command("eval", cls=ToldCommand)
@options(WATCH)
@click.option("--rank", "ranks", multiple=True, type=int, metavar="N", help="Ask the process of this rank; again for more.")
@click.option("--ask", "name", metavar="NAME", help="A question from the list instead of CODE.")
@click.option("--list", "listing", is_flag=True, help="List the questions, and where your own ones lie.")
@click.option("--show", is_flag=True, help="Print the code of the question.")
@click.option("--set", "arguments", multiple=True, callback=_arguments, metavar="NAME=VALUE", help="An argument of the question.")
@click.option(
    "--within", "within_s", type=FiniteRange(min=0.1), default=10.0, show_default=True, metavar="SECONDS", help="For the answer."
)
@click.option("--born-by", "born_by", type=int, hidden=True, help="Ask no process that started later, in ticks after boot.")
@click.option("--yes", is_flag=True, help="Run it; without it a terminal asks for the pid, and nothing else runs anything.")
@click.argument("code", required=False, metavar="[CODE]")
def evaluate(code: str | None, **given: Any) -> int:
    """Run Python code in a process that has run `import hangtop.agent` or opened itself to debugpy or probing.

    \b
    hangtop eval --log train.log --rank 0 'loader.num_workers'
    hangtop eval --pid 4711 --ask gradients
    hangtop eval --log train.log --rank 0 --ask checkpoint --set path=/ckpt/rescue.pt

    The code sees the names where the main thread stands. It runs beside the program and can change it. Only in your processes.
    Exit code 0: it ran, 1: it failed in one, or one gave no answer, 2: wrong usage, 4: nothing ran.
    """
    from hangtop.cli.commands import evaluate as command
    from hangtop.cli.commands.inspect import of_ranks
    from hangtop.feeds.probe_feed import ProbeFeed

    config = config_of(given["config"])
    wanted = command.Wanted(**{name: given[name] for name in ("name", "arguments", "within_s", "yes", "born_by")}, code=code)
    if given["listing"]:
        return command.tell(sys.stdout)
    if given["show"]:
        return command.show(wanted, sys.stdout)
    if config.read_only:
        raise click.UsageError("read-only: nothing may be run in a process")
    if (code is None) == (given["name"] is None):
        raise click.UsageError("give CODE, or --ask NAME (hangtop eval --list)")
    if not given["ranks"]:
        if not given["pids"]:
            raise click.UsageError("which process? give --pid PID, or --log FILE --rank N")
        pids, strangers = (
            command.members(ProbeFeed(watch_spec(given, config)), given["pids"]) if given["logs"] else (given["pids"], [])
        )
        sys.stderr.write("".join(f"hangtop eval: {say(line)}\n" for line in strangers))
        return command.run(dict.fromkeys(pids, ""), wanted, sys.stdout)
    found, unknown = of_ranks(ProbeFeed(spec_of_run(given, config)), dict.fromkeys(given["ranks"]))
    sys.stderr.write("".join(f"hangtop eval: {say(line)}\n" for line in unknown))
    return command.run({pid: f"rank {rank}" for rank, pid in found.items()}, wanted, sys.stdout)


def commands() -> tuple[click.Command, ...]:
    return (inspect, evaluate)
