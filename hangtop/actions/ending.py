"""End the processes of a plan, wave by wave: TERM, wait, KILL, children before parents; then look again and say who survived."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import groupby

from hangtop.actions.signals import Aim
from hangtop.actions.steps import Halt, step
from hangtop.actions.survivors import look_before, name_of, prove
from hangtop.records.plan import Plan, Step
from hangtop.sources.proc.table import ProcessTable
from hangtop.sources.proc.writers import ancestors

KILL_WAIT_S = 5.0
LOOK_EVERY_S = 0.05


def end(plan: Plan, table: ProcessTable, halt: Halt) -> Generator[Step, None, bool]:
    """Signal the targets of the plan, and nothing else. Gives whether all of them, and nothing like them, are gone."""
    table.refresh(tuple(table.stats))
    own = frozenset({os.getpid(), *ancestors(table.stats, os.getpid())})
    known = look_before(plan, table)
    aims: list[Aim] = []
    for target in plan.targets:
        try:
            aims.append(Aim(target, table, own, os.geteuid()))
        except LookupError as reason:
            yield step("skipped", f"pid {target.pid}: {reason}", target)
    try:
        for _, wave in groupby(sorted(aims, key=_wave), key=_wave):
            yield from _end_wave(list(wave), plan.grace_s, halt)
        return (yield from prove(plan, known, table))
    finally:
        for aim in aims:
            aim.release()


def _end_wave(aims: list[Aim], grace_s: float, halt: Halt) -> Iterator[Step]:
    """TERM, wait, KILL. Some may have ended with those before them: told, and left alone."""
    left = yield from _await(aims, 0.0, halt)
    yield from _signal(left, signal.SIGTERM, halt)
    left = yield from _await(left, grace_s, halt)
    if left:
        yield from _signal(left, signal.SIGKILL, halt)
        yield from _await(left, KILL_WAIT_S, halt)


def _wave(aim: Aim) -> int:
    return aim.target.wave


def _signal(aims: Sequence[Aim], number: signal.Signals, halt: Halt) -> Iterator[Step]:
    """One burst, children before parents, so that no launcher has the time to start a rank again. Told before it is done."""
    for place, aim in enumerate(aims):
        if halt():
            yield from _not_sent(aims[place:], number)
            return
        yield step("doing", f"{number.name} to pid {aim.target.pid} {name_of(aim.target)}", aim.target)
        try:
            aim.send(number)
            if aim.target.state in ("T", "t"):
                aim.send(signal.SIGCONT)
        except (LookupError, PermissionError) as reason:
            yield step("skipped", f"pid {aim.target.pid}: {reason}", aim.target)


def _not_sent(aims: Iterable[Aim], number: signal.Signals) -> Iterator[Step]:
    for aim in aims:
        yield step("skipped", f"pid {aim.target.pid} {name_of(aim.target)} gets no {number.name}", aim.target)


def _await(aims: list[Aim], within_s: float, halt: Halt) -> Generator[Step, None, list[Aim]]:
    """Say who ends; gives those that have not."""
    deadline = time.monotonic() + within_s
    left = list(aims)
    while left:
        ended = [aim for aim in left if aim.gone()]
        for aim in ended:
            left.remove(aim)
            yield step("done", f"pid {aim.target.pid} {name_of(aim.target)} ended", aim.target)
        if not left or halt.asked or time.monotonic() >= deadline:
            break
        time.sleep(LOOK_EVERY_S)
    return left
