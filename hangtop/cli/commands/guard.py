"""`hangtop guard`: the watch without a person."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import click
from msgspec import Struct

from hangtop.actions.execute.client import own_process
from hangtop.actions.execute.signals import VerifiedProcess, own_processes
from hangtop.cli.commands import run as run_command
from hangtop.common import clock
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.guard.book_file import BookFile, HeldError
from hangtop.guard.loop import GuardWatch
from hangtop.guard.metrics import MetricsError, serve
from hangtop.guard.notices import problems_of
from hangtop.guard.policy import HARMFUL, ONLY_TELL, Policy, PolicyError, read_policy, with_urls
from hangtop.records.plan import Target
from hangtop.records.watch_spec import WatchSpec, plain_file
from hangtop.system.processes.open_table import open_table
from hangtop.system.stores import launch_store

ENDED_BY_GUARD = 75
"""EX_TEMPFAIL of sysexits.h: the run was ended because it did not go on, and another try may succeed."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
SERVICES = ("systemd", "slurm", "k8s")


class GuardOptions(Struct, frozen=True):
    """As typed. `words`: the command of a run that the guard starts, and ends with."""

    policy: Path | None = None
    urls: tuple[str, ...] = ()
    metrics: str | None = None
    alive: Path | None = None
    dry_run: bool = False
    read_only: bool = False
    words: tuple[str, ...] = ()


def run(spec: WatchSpec, wanted: GuardOptions) -> int:
    """Exit code: as of `check`; of a run that the guard started its own, or 75 where the guard ended it."""
    try:
        policy = with_urls(ONLY_TELL if wanted.policy is None else read_policy(wanted.policy), wanted.urls)
        subscribers = () if wanted.metrics is None else (serve(wanted.metrics).look,)
        _refuse(policy, spec, wanted)
        book = BookFile(spec)
    except (PolicyError, MetricsError, HeldError) as error:
        raise click.UsageError(str(error)) from error
    if wanted.words and (code := run_command.start(wanted.words, spec.logs, sys.stderr)) != 0:
        return code
    watch = GuardWatch(
        spec,
        policy,
        book,
        sys.stdout,
        sys.stderr,
        clock.now,
        dry_run=wanted.dry_run,
        alive=wanted.alive,
        subscribers=subscribers,
    )
    try:
        code = asyncio.run(_watched(watch, ProbeFeed(spec), _passing_on(spec) if wanted.words else None))
    finally:
        book.close()
    return _code_of_run(spec, watch, code) if wanted.words else code


def _refuse(policy: Policy, spec: WatchSpec, wanted: GuardOptions) -> None:
    """Raises `click.UsageError` for a policy that cannot be carried out here."""
    deeds = {deed for when in policy.when for deed in when.deeds}
    if wanted.read_only and deeds & HARMFUL:
        raise click.UsageError(f"read-only: the policy may not {', '.join(sorted(deeds & HARMFUL))}")
    if policy.notify.urls and (problems := problems_of(policy.notify.urls)):
        raise click.UsageError(f"--notify: {'; '.join(problems)}")
    if not deeds & {"restart", "recover"} or policy.restart.command or wanted.words:
        return
    log = plain_file(spec.logs)
    if log is None or launch_store.latest(os.path.realpath(log)) is None:
        raise click.UsageError(
            "the policy starts a run again that hangtop did not start: give its command in restart.command, or after --"
        )


async def _watched(watch: GuardWatch, feed: ProbeFeed, passed_on: Callable[[signal.Signals], None] | None) -> int:
    loop = asyncio.get_running_loop()
    if passed_on is not None:
        for number in PASSED_ON:
            loop.add_signal_handler(number, passed_on, number)
    else:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, feed.close)
    return await watch.run(feed)


def _passing_on(spec: WatchSpec) -> Callable[[signal.Signals], None]:
    """Hands a signal on to the run that the guard started: its start time is checked again."""
    own = own_process()

    def pass_on(number: signal.Signals) -> None:
        known = launch_store.latest(os.path.realpath(spec.logs[0]))
        if known is None or known.exit_code is not None:
            return
        table = open_table()
        target = Target(known.pid, known.start_ticks, known.started_at, known.argv[0], "S")
        try:
            process = VerifiedProcess(target, table, own_processes(table), own.uid)
            process.send(number)
            process.close()
        except (LookupError, PermissionError) as error:
            sys.stderr.write(f"{number.name} was not passed on: {error}\n")

    return pass_on


def _code_of_run(spec: WatchSpec, watch: GuardWatch, code: int) -> int:
    """What a script wants to know that started its run under a guard."""
    if any(done.went and done.deed == "stop" for done in watch.book.done if done.at >= watch.began_at):
        return ENDED_BY_GUARD
    known = launch_store.latest(os.path.realpath(spec.logs[0]))
    ended = None if known is None else known.exit_code
    return code if ended is None else 128 - ended if ended < 0 else ended


def service(name: str) -> str:
    """The example of this service."""
    return (files("hangtop.guard") / "services" / f"{name}.txt").read_text("utf-8")


def test_notice(urls: Sequence[str]) -> int:
    """`hangtop notify --test`: one notice to each address. Exit code 0 where all were delivered."""
    from hangtop.guard.notices import Notice, send

    if problems := problems_of(urls):
        raise click.UsageError("; ".join(problems))
    body = "This is how hangtop tells that a run hangs."
    if why := asyncio.run(send(Notice(tuple(urls), "hangtop: a test", body))):
        click.echo(f"hangtop notify: {why}", err=True)
        return 1
    click.echo(f"delivered to {len(urls)} address{'es' if len(urls) > 1 else ''}")
    return 0
