"""The process that carries out a plan: TERM, wait, KILL, then a fresh look. It goes on when the screen goes away.

stdin: the plan, one JSON document. stdout: its steps, one JSON line each. Every step is first written to the action log.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Generator, Iterable, Iterator

import msgspec

from hangtop import clock
from hangtop.actions.journal import Journal
from hangtop.actions.signals import Aim
from hangtop.records.plan import Plan, Step, StepKind, Target
from hangtop.sources.proc.table import ProcessTable
from hangtop.sources.proc.writers import ancestors
from hangtop.sources.processes import open_table

KILL_WAIT_S = 5.0
LOOK_EVERY_S = 0.05
RESTARTED_AFTER_S = 1.0
"""A supervisor needs a moment to start what it lost."""


def perform(plan: Plan, table: ProcessTable) -> Iterator[Step]:
    """Signal the targets of the plan, and nothing else."""
    table.refresh(())
    own = frozenset({os.getpid(), *ancestors(table.stats, os.getpid())})
    aims: list[Aim] = []
    for target in plan.targets:
        try:
            aims.append(Aim(target, table, own, os.geteuid()))
        except LookupError as reason:
            yield _step("skipped", f"pid {target.pid}: {reason}", target)
    try:
        yield from _signal(aims, signal.SIGTERM)
        left = yield from _await(aims, plan.grace_s)
        if left:
            yield from _signal(left, signal.SIGKILL)
            yield from _await(left, KILL_WAIT_S)
        yield from _prove(plan, aims, table)
    finally:
        for aim in aims:
            aim.release()


def _signal(aims: Iterable[Aim], number: signal.Signals) -> Iterator[Step]:
    """One burst, children before parents, so that no launcher has the time to start a rank again. Told before it is done."""
    for aim in aims:
        yield _step("doing", f"{number.name} to pid {aim.target.pid} {_name(aim.target)}", aim.target)
        try:
            aim.send(number)
            if aim.target.state in ("T", "t"):
                aim.send(signal.SIGCONT)
        except (LookupError, PermissionError) as reason:
            yield _step("skipped", f"pid {aim.target.pid}: {reason}", aim.target)


def _await(aims: list[Aim], within_s: float) -> Generator[Step, None, list[Aim]]:
    """Say who ends; gives those that have not."""
    deadline = time.monotonic() + within_s
    left = list(aims)
    while left and time.monotonic() < deadline:
        ended = [aim for aim in left if aim.gone()]
        for aim in ended:
            left.remove(aim)
            yield _step("done", f"pid {aim.target.pid} {_name(aim.target)} ended", aim.target)
        if left:
            time.sleep(LOOK_EVERY_S)
    return left


def _prove(plan: Plan, aims: list[Aim], table: ProcessTable) -> Iterator[Step]:
    """Look again: who survived, in which state, and did anybody start it anew?"""
    survivors = 0
    for aim in aims:
        if (state := aim.state()) is not None:
            survivors += 1
            why = "blocked in the kernel, no signal reaches it" if state == "D" else f"state {state}"
            yield _step("survived", f"pid {aim.target.pid} {_name(aim.target)}: {why}", aim.target)
    time.sleep(RESTARTED_AFTER_S)
    for pid, command in _restarted(plan, table):
        survivors += 1
        yield _step("survived", f"pid {pid} runs the same command anew: a supervisor restarts it ({command})")
    if not survivors:
        yield _step("proof", f"all {len(plan.targets)} processes of the plan are gone")


def _restarted(plan: Plan, table: ProcessTable) -> Iterator[tuple[int, str]]:
    commands = {target.command for target in plan.targets}
    known = {(target.pid, target.start_ticks) for target in plan.targets}
    newest = max(target.start_ticks for target in plan.targets)
    table.refresh(tuple(table.stats))
    for stat in table.stats.values():
        if (stat.pid, stat.start_ticks) in known or stat.start_ticks <= newest or stat.kernel or stat.state in "ZX":
            continue
        with contextlib.suppress(OSError):
            command = " ".join(table.command(stat.pid))
            if command and command in commands and table.owner(stat.pid) == os.geteuid():
                yield stat.pid, command


def _name(target: Target) -> str:
    return f"rank {target.rank}" if target.rank is not None else target.role if target.role != "other" else target.command[:40]


def _step(kind: StepKind, text: str, target: Target | None = None) -> Step:
    pid, ticks = (None, None) if target is None else (target.pid, target.start_ticks)
    return Step(clock.now(), kind, text, pid, ticks)


def main() -> None:
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    journal = Journal()
    listening = True
    for step in perform(plan, open_table()):
        journal.write(plan, step)
        if listening:
            try:
                sys.stdout.buffer.write(msgspec.json.encode(step) + b"\n")
                sys.stdout.buffer.flush()
            except OSError:
                listening = False
    if not listening:
        os._exit(0)


if __name__ == "__main__":
    main()
