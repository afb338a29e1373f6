"""`hangtop guard`: the watch without a person."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from hangtop.actions.execute.client import own_process
from hangtop.actions.execute.signals import VerifiedProcess, own_processes
from hangtop.cli.commands import run as run_command
from hangtop.common import clock
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.guard.book_file import BookFile, HeldError
from hangtop.guard.echo import Echo
from hangtop.guard.end_on_request import EndOnRequest
from hangtop.guard.episodes import Book
from hangtop.guard.lines_out import LinesOut
from hangtop.guard.liveness import Liveness, LivenessError
from hangtop.guard.metrics import MetricsError, serve
from hangtop.guard.own_run import launched, lives, may_harm, refusal
from hangtop.guard.policy import HARMFUL, ONLY_TELL, WRAPPED, Policy, with_urls
from hangtop.guard.read_policy import PolicyError, read_policy
from hangtop.guard.send_notice import problems_of
from hangtop.guard.service_manager import ServiceManager
from hangtop.guard.teller import Teller
from hangtop.guard.watch import GuardWatch
from hangtop.monitor.told_state import StateTeller
from hangtop.records.plan import Target
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.open_table import open_table

ENDED_BY_GUARD = 75
"""EX_TEMPFAIL of sysexits.h: the run was ended because it did not go on, and another try may succeed."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""By these somebody wants the run to end."""
JUST_BEFORE_S = 5.0
"""Clocks of two processes agree so far."""
LAST_OUTPUT_S = 10.0


class GuardOptions(Struct, frozen=True):
    """As typed. `words`: the command of a run that the guard starts, and ends with. `events`: a file, where stdout takes the
    output of the run."""

    policy: Path | None = None
    urls: tuple[str, ...] = ()
    metrics: str | None = None
    alive: str | None = None
    dry_run: bool = False
    read_only: bool = False
    words: tuple[str, ...] = ()
    events: Path | None = None


def run(spec: WatchSpec, wanted: GuardOptions, *, wraps: bool = False) -> int:
    """Exit code: as of `check`; of a run that the guard started its own, or 75 where the guard ended it.

    `wraps`: stdout takes the output of the run."""
    try:
        policy = _policy(wanted, wraps=wraps)
        _refuse(policy, spec, wanted)
        metrics = None if wanted.metrics is None else serve(wanted.metrics)
        alive = None if wanted.alive is None else Liveness(wanted.alive)
        manager = ServiceManager()
        book = BookFile(spec, dry_run=wanted.dry_run)
        out = _events(wanted.events) if wraps else sys.stdout.fileno()
    except (PolicyError, MetricsError, HeldError) as error:
        raise click.UsageError(str(error)) from error
    teller = Teller(spec.logs, LinesOut(out), LinesOut(sys.stderr.fileno()), clock.now, dry_run=wanted.dry_run)
    echo = Echo(Path(spec.logs[0]), sys.stdout.fileno()) if wraps else None
    early: list[signal.Signals] = []
    if wanted.words:
        _keep_signals(early)
        if (code := _begin(wanted.words, spec, book, teller)) != 0:
            return code
    request = EndOnRequest(spec.logs[0], partial(_has_ended, spec)) if wanted.words else None
    told = StateTeller()
    watch = GuardWatch(
        spec,
        policy,
        book,
        teller,
        dry_run=wanted.dry_run,
        may_harm=partial(may_harm, spec, policy),
        has_ended=partial(_has_ended, spec) if wanted.words else lambda: False,
        lookers=tuple(each.look for each in (metrics, alive, manager, request, told) if each is not None),
    )
    try:
        code = asyncio.run(_watched(watch, spec, alive, echo, request, early))
    except LivenessError as error:
        raise click.UsageError(str(error)) from error
    finally:
        told.close()
    if wanted.words:
        code = _code_of_run(spec, book.book, code, None if request is None else request.number)
        book.keep(replace(book.book, started_at=None))
    book.close()
    return code


def _policy(wanted: GuardOptions, *, wraps: bool) -> Policy:
    if wanted.policy is not None:
        return read_policy(wanted.policy, wanted.urls)
    return with_urls(WRAPPED if wraps else ONLY_TELL, wanted.urls)


def _events(path: Path | None) -> int:
    """Where events go beside a run whose output is ours: to this file, or nowhere."""
    try:
        return os.open(path or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise click.UsageError(f"--events {path}: {error.strerror}") from error


def _refuse(policy: Policy, spec: WatchSpec, wanted: GuardOptions) -> None:
    """Raises `click.UsageError` for a policy that cannot be carried out here."""
    deeds = {deed for when in policy.when for deed in when.deeds}
    if wanted.read_only and (deeds & HARMFUL or wanted.words):
        raise click.UsageError("read_only is set in the config: nothing may be started, stopped or restarted")
    if spec.stdin is not None or "-" in spec.logs:
        raise click.UsageError("a guard reads a file: COMMAND 2>&1 | tee train.log, and --log train.log")
    if policy.notify.urls and (problems := problems_of(policy.notify.urls)):
        raise click.UsageError(f"notices cannot be sent: {'; '.join(problems)}")
    if why := refusal(spec, policy, starts=bool(wanted.words)):
        raise click.UsageError(why)


def _begin(words: Sequence[str], spec: WatchSpec, file: BookFile, teller: Teller) -> int:
    """Start the run; one that a guard before this one has started is not started twice. Exit code 0, or why it does not run."""
    began_at, known = file.book.started_at, launched(spec)
    if began_at is not None and known is not None and known.started_at >= began_at - JUST_BEFORE_S:
        teller.say("guard", f"goes on with the run that a guard before it has started: pid {known.pid}")
        return 0
    if known is not None and lives(known):
        sys.stderr.write(f"hangtop: pid {known.pid} writes to {spec.logs[0]} already: it is not started a second time\n")
        return 2
    file.keep(Book(started_at=clock.now(), post=file.book.post))
    code = run_command.start(words, spec.logs, sys.stderr)
    if code != 0:
        file.keep(replace(file.book, started_at=None))
    return code


def _has_ended(spec: WatchSpec) -> bool:
    known = launched(spec)
    return known is not None and not lives(known)


def _keep_signals(early: list[signal.Signals]) -> None:
    """Signals that come while the run is being started are handed on to it once it is there."""
    for number in PASSED_ON:
        signal.signal(number, lambda caught, _: early.append(signal.Signals(caught)))


async def _watched(
    watch: GuardWatch,
    spec: WatchSpec,
    alive: Liveness | None,
    echo: Echo | None,
    request: EndOnRequest | None,
    early: Sequence[signal.Signals],
) -> int:
    """`request`: of the run that the guard has started; `None` where it has started none. `early`: signals for it."""
    loop = asyncio.get_running_loop()
    if request is not None:
        pass_on = _passing_on(spec, watch, request)
        for number in PASSED_ON:
            loop.add_signal_handler(number, pass_on, number)
        for number in early:
            pass_on(number)
    else:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, watch.close)
    if alive is not None:
        await alive.serve()
    if echo is None:
        return await watch.run(lambda: ProbeFeed(spec))
    copying = asyncio.create_task(echo.run())
    code = await watch.run(lambda: ProbeFeed(spec))
    copying.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await copying
    await echo.finish(LAST_OUTPUT_S)
    return code


def _passing_on(spec: WatchSpec, watch: GuardWatch, request: EndOnRequest) -> Callable[[signal.Signals], None]:
    """Hands a signal on to the run that the guard started: its start time is checked again."""
    own = own_process()

    def pass_on(number: signal.Signals) -> None:
        known = launched(spec)
        if known is None or known.exit_code is not None:
            if number in ENDS:  # between the stop and the start of a restart
                watch.told_to_end = f"{number.name} came while it did not run"
            return
        table = open_table()
        table.refresh(())
        target = Target(known.pid, known.start_ticks, known.started_at, known.argv[0], "S")
        try:
            process = VerifiedProcess(target, table, own_processes(table), own.uid)
            process.send(number)
            process.close()
            if number in ENDS:
                watch.told_to_end = f"{number.name} was handed on to it"
                request.asked(number)
        except (LookupError, PermissionError) as error:
            sys.stderr.write(f"{number.name} was not passed on: {error}\n")

    return pass_on


def _code_of_run(spec: WatchSpec, book: Book, code: int, asked: signal.Signals | None) -> int:
    """What a script wants to know that started its run under a guard. `asked`: the signal by which somebody wanted its end; a
    launcher that ends with 1 then has not chosen that code, it is what an exception of that signal leaves."""
    if any(done.went and done.deed == "stop" for done in book.done):  # all of this run: its start has begun a new book
        return ENDED_BY_GUARD
    known = launched(spec)
    ended = None if known is None else known.exit_code
    if asked is not None and ended in (1, None):
        return 128 + asked
    return code if ended is None else 128 - ended if ended < 0 else ended


def service(name: str) -> str:
    """The example of this service, or the dashboard."""
    ending = "json" if name == "grafana" else "txt"
    return (files("hangtop.guard") / "services" / f"{name}.{ending}").read_text("utf-8")


def test_notice(urls: Sequence[str]) -> int:
    """`hangtop notify --test`: one notice to each address. Exit code 0 where all were delivered."""
    from hangtop.guard.post import Notice
    from hangtop.guard.send_notice import send

    if problems := problems_of(urls):
        raise click.UsageError("; ".join(problems))
    body = "This is how hangtop tells that a run hangs."
    sent = asyncio.run(send(Notice(tuple(urls), "hangtop: a test", body)))
    if sent.why:
        named = ", ".join(f"address {place + 1}" for place in sent.failed)
        click.echo(f"hangtop notify: not delivered to {named}: {sent.said or sent.why}", err=True)
        return 1
    click.echo(f"delivered to {len(urls)} address{'es' if len(urls) > 1 else ''}")
    return 0
