"""The command line. Each command is a thin function; its code is in `hangtop.cli.commands`, imported when it is called."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click
from msgspec.structs import replace

from hangtop import __version__
from hangtop.cli import outputs
from hangtop.cli.action_options import commands as action_commands
from hangtop.cli.config import config_dir
from hangtop.cli.finite_range import FiniteRange
from hangtop.cli.guard_options import guard, mcp, notify, picture, wrap
from hangtop.cli.hands_options import commands as hands_commands
from hangtop.cli.living_options import commands as living_commands
from hangtop.cli.options import (
    LOOK,
    RECORD,
    TELL,
    WATCH,
    bad_data_as_usage_error,
    config_of,
    options,
    recorder,
    spec_of_run,
    system_language,
    watch_look,
    watch_spec,
)
from hangtop.cli.query_options import commands as query_commands
from hangtop.cli.told_help import ToldCommand, ToldGroup
from hangtop.probe.log import stdin_pipe
from hangtop.records.watch_spec import ASKED_SOURCES, DEFAULT_SOURCES, DEFAULT_STALL_S, WatchSpec
from hangtop.translations import speak


class LogCommand(ToldCommand):
    """Says that a log is named with --log, where a person left that out."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if error.message.startswith("Got unexpected extra argument") and any("--log" in each.opts for each in self.params):
                raise click.UsageError(f"{error.message}: a log is named with --log", ctx) from error
            raise


class RunGroup(ToldGroup):
    """`hangtop --log F -- COMMAND` is `hangtop run --log F -- COMMAND`."""

    command_class = LogCommand
    group_class = ToldGroup

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if os.path.exists(args[0]):
                raise click.UsageError(f"{error.message.rstrip('.')}; to watch it: hangtop --log {args[0]}", ctx) from error
            raise

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args and args[0] not in self.commands:
            args = ["run", *args]
        if args[:1] == ["run"] and _is_guarded(args):
            args = ["wrap", *args[1:]]
        return super().parse_args(ctx, args)


def _is_guarded(args: list[str]) -> bool:
    """Whether a run is to be started under a guard instead of a screen."""
    own = args[: args.index("--")] if "--" in args else args
    return any(word.partition("=")[0] == "--guard" for word in own)


@click.group(
    cls=RunGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@options(WATCH, LOOK, TELL, RECORD)
@click.version_option(__version__, prog_name="hangtop")
@click.pass_context
def hangtop(context: click.Context, /, **given: Any) -> int:
    """Watch a training run: is it hung, in which stage, which rank is behind, and what to do now.

    \b
    hangtop --log train.log      watch a run
    hangtop                      the runs on this machine, with verdicts
    hangtop --log F -- COMMAND   start a run, and watch it
    hangtop check --log F        one verdict, then exit
    hangtop demo                 a real little run that hangs, watched

    Keys: ? help, / filter, e only errors and stages, q quit.
    """
    if context.invoked_subcommand is not None:
        if any(given.values()):
            raise click.UsageError(f"options come after the command: hangtop {context.invoked_subcommand} --log …")
        return 0
    from hangtop.cli.commands import watch

    config = config_of(given["config"])
    spec: WatchSpec | None = watch_spec(given, config)
    look = watch_look(given, config)
    if spec is not None and not spec.logs and not spec.pids:
        from hangtop.cli.commands import runs

        spec = runs.choose(spec, look)
    return 0 if spec is None else watch.run(spec, look, recorder(given["record"], spec))


@hangtop.result_callback()
def end(code: int | None, **_: Any) -> None:
    """A command returns its exit code."""
    sys.exit(code)


@hangtop.command()
@options(WATCH)
@click.option(
    "--wait", type=FiniteRange(min=0), metavar="SECONDS", help="Watch at least this long, unless the run has plainly ended."
)
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON, schema 1.")
@click.option("--why", "with_why", is_flag=True, help="Print the rule that decided too, and all facts that were weighed.")
def check(wait: float | None, as_json: bool, with_why: bool, **given: Any) -> int:
    """Print one verdict, and exit.

    Exit code 0: running, slow or finished; 1: stalled, hung or waiting; 2: wrong usage; 3: crashed; 4: blind, for the log
    cannot be read.
    """
    gc.disable()  # nothing that is loaded is garbage, and to look for some takes a tenth of the start
    from hangtop.feeds.probe_feed import ProbeFeed

    spec = spec_of_run(given, config_of(given["config"]))
    feed = ProbeFeed(spec)
    feed.begin()  # it loads what it needs while we load the rules
    from hangtop.cli.commands import check as command

    gc.freeze()
    gc.enable()
    return command.run(feed, spec, wait_s=wait, as_json=as_json, with_why=with_why, out=sys.stdout)


@hangtop.command()
@options(WATCH, LOOK, TELL, RECORD)
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND …")
def run(words: tuple[str, ...], **given: Any) -> int:
    """Start a run, its output going to --log FILE, and watch it. It goes on when hangtop ends.

    With --guard FILE there is no screen: it is `hangtop wrap`, and FILE its policy.

    It has a terminal and a session of its own, and no input. Key r starts it again, key k stops it.
    """
    from hangtop.cli.commands import run as command
    from hangtop.cli.commands import watch

    config = config_of(given["config"])
    if given["read_only"] or config.read_only:
        raise click.UsageError("read-only: nothing may be started")
    spec, look = watch_spec(given, config), replace(watch_look(given, config), started=True)
    code = command.start(words, spec.logs, sys.stderr)
    if code == 0:
        code = watch.run(spec, look, recorder(given["record"], spec))
        sys.stderr.write(command.goes_on(spec.logs))
    return code


for _command in (*action_commands(), *query_commands(), *hands_commands(), *living_commands(), guard, notify, picture, wrap, mcp):
    hangtop.add_command(_command)


@hangtop.group()
def profiles() -> None:
    """Show and test the frameworks that hangtop knows, yours included."""


@profiles.command("list")
def profiles_list() -> int:
    """List all profiles, a line each."""
    from hangtop.cli.commands import profiles as command

    with bad_data_as_usage_error():
        return command.list_profiles(sys.stdout, config_dir())


@profiles.command("show")
@click.argument("name")
def profiles_show(name: str) -> int:
    """Show stages, markers and limits of one profile."""
    from hangtop.cli.commands import profiles as command

    with bad_data_as_usage_error():
        return command.show(name, sys.stdout, config_dir())


@profiles.command("test")
@click.argument("name", required=False)
@click.option("--log", type=click.Path(path_type=Path), metavar="FILE", help="Show what matches where in this log.")
@click.option("--profile", "extra", type=click.Path(path_type=Path), metavar="FILE", help="A profile that is not installed yet.")
def profiles_test(name: str | None, log: Path | None, extra: Path | None) -> int:
    """Prove a profile by its own examples.

    Checks every example, negative, literal and regex of it, or of all profiles; with --log also what matches where.
    """
    from hangtop.cli.commands import profiles as command

    with bad_data_as_usage_error():
        return command.prove(name, sys.stdout, config_dir(), log, extra)


@hangtop.command()
@click.argument("recording", type=click.Path(path_type=Path))
@click.option(
    "--speed", type=FiniteRange(min=0.01, max=10_000), default=1.0, help="How many times as fast as it was.  [default: 1]"
)
@options(LOOK)
def replay(recording: Path, speed: float, **given: Any) -> int:
    """Play a session that --record wrote, on the same screens.

    Keys: p pauses, < and > go 30 s back and on.
    """
    from hangtop.cli.commands import replay as command

    config = config_of(None)
    return command.run(recording, speed, watch_look(given, config))


@hangtop.command()
@click.argument("scenario", required=False)
@click.option("--list", "listing", is_flag=True, help="List the scenarios.")
@click.option("--stall", type=FiniteRange(min=1), metavar="SECONDS", help="Stall limit instead of the demo's short one.")
@options(LOOK, TELL, RECORD)
def demo(scenario: str | None, listing: bool, stall: float | None, **given: Any) -> int:
    """Start a little run that really hangs, and watch it.

    SCENARIO is one of those that --list shows. All its processes end with hangtop.
    """
    from hangtop.cli.commands import demo as command

    if listing:
        click.echo(command.listing())
        return 0
    config = config_of(None)
    spec = WatchSpec(stall_s=stall or DEFAULT_STALL_S, sources=(*DEFAULT_SOURCES, *ASKED_SOURCES))
    return command.show(scenario, spec, watch_look(given, config), lambda watched: recorder(given["record"], watched))


@hangtop.command()
@options(WATCH)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE.tar.gz", help="The archive to write."
)
def bundle(output: Path, **given: Any) -> int:
    """Pack the evidence for a bug report, with a ready issue text.

    Secrets are taken out, and the bundle says which.
    """
    from hangtop.cli.commands import bundle as command
    from hangtop.feeds.probe_feed import ProbeFeed

    spec = spec_of_run(given, config_of(given["config"]))
    return command.run(ProbeFeed(spec), spec, output, sys.stdout)


def _trials(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for name in given:
        if name not in ("data", "worker") and not (name.startswith("worker=") and len(name) > len("worker=")):
            raise click.BadParameter(f"{name!r} is none of data, worker, worker=MODULE")
    return given


@hangtop.command()
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
@click.option("--log", type=click.Path(path_type=Path), metavar="FILE", help="Log of an earlier run, which tells the framework.")
@click.option(
    "--try",
    "trials",
    multiple=True,
    metavar="data|worker[=MODULE]",
    callback=_trials,
    help="Load the data files of the command as the run would; start one worker of Ray, and import MODULE in it.",
)
@click.option("--within", "within_s", type=FiniteRange(1), default=60, show_default=True, metavar="SECONDS", help="For each try.")
@click.argument("command_words", nargs=-1, metavar="[-- COMMAND …]")
def doctor(as_json: bool, log: Path | None, trials: tuple[str, ...], within_s: float, command_words: tuple[str, ...]) -> int:
    """Check before a run whether this machine is fit for it.

    With the command of the run after -- also its interpreter, environment and files. Exit code 1: a check failed.
    """
    from hangtop.cli.commands import doctor as command

    config_of(None)

    with bad_data_as_usage_error():
        return command.run(command_words, as_json=as_json, out=sys.stdout, log=log, trials=trials, within_s=within_s)


@hangtop.command()
@click.argument("query", required=False)
@click.option("--list", "listing", is_flag=True, help="List all known messages, a line each.")
@click.option("--framework", metavar="NAME", help="Only the fixes for this framework.")
@click.option("--lang", type=click.Choice(["en", "zh"]), help="Language of cause and fixes.  [default: from LANG]")
def explain(query: str | None, listing: bool, framework: str | None, lang: str | None) -> int:
    """Tell what an error message, or a place where runs stand, means and what to do.

    QUERY is the text of the message, the ID of a known one or of a place (--list), FRAMEWORK:STAGE such as gkd:weight_sync, or -
    for stdin.
    """
    from hangtop.cli.commands import explain as command

    chosen = lang or config_of(None).lang or system_language()
    speak(chosen, config_dir())
    with bad_data_as_usage_error():
        return command.run(query, listing=listing, lang=chosen, framework=framework, out=sys.stdout, user_dir=config_dir())


@hangtop.command()
@options(WATCH)
@click.option(
    "--rank",
    "ranks",
    multiple=True,
    type=int,
    callback=lambda _, __, ranks: frozenset(ranks) or None,
    metavar="N",
    help="Only this rank; again for more.",
)
@click.option("--thread", metavar="TEXT", help="Only threads with this in their name.")
@click.option("--function", metavar="TEXT", help="Only stacks with this function.")
@click.option("--all-threads", is_flag=True, help="Every thread, not only the one that tells what a rank does.")
@click.option("--again", "again_s", type=FiniteRange(min=0.1), metavar="SECONDS", help="Look a second time, and say what moved.")
@click.option("--native", is_flag=True, help="Frames of C code too: names the processes, and stops each for about 0.1 s.")
@click.option("--locals", "with_locals", is_flag=True, help="Local variables too. They may hold secrets.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, schema 1.")
def stacks(as_json: bool, **given: Any) -> int:
    """Print the Python stacks of all ranks, alike ones together.

    The odd ones first. The run is not stopped; --native stops each of its processes for about 0.1 s.
    """
    from hangtop.cli.commands import stacks as command
    from hangtop.feeds.probe_feed import ProbeFeed

    spec = spec_of_run(given, config_of(given["config"]))
    wanted = command.StackOptions(**{name: given[name] for name in command.StackOptions.__struct_fields__})
    return command.of_run(ProbeFeed(spec), wanted=wanted, as_json=as_json, out=sys.stdout, notices=sys.stderr)


@hangtop.command(hidden=True)
def probe() -> None:
    """The node side: started by hangtop, not by people."""
    from hangtop.probe.__main__ import main as probe_main

    probe_main()


def main() -> None:
    """Entry point. An interrupt is a normal end."""
    code: int | str | None = 0
    outputs.prepare()
    try:
        stdin_pipe.keep(sys.argv[1:])
        hangtop.main(prog_name="hangtop")
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        code = 130
    except (stdin_pipe.StdinError, OSError) as error:
        sys.stderr.write(f"hangtop: {error}\n")
        code = 2
    _leave(code)


def _leave(code: int | str | None) -> NoReturn:
    """End at once: shutting down the interpreter takes 0.1 s and more on a busy machine, and the prompt is due within 0.3 s."""
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    if (said := stdin_pipe.farewell()) is not None:
        with suppress(OSError, ValueError):  # a terminal that has closed
            sys.stderr.write(f"{said}\n")
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    stdin_pipe.read_on()
    os._exit(code if isinstance(code, int) else int(code is not None))
