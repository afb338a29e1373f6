"""Give the targets of a plan one signal that is not meant to end them, and say what became of each."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

from hangtop.actions.execute.signals import VerifiedProcess, own_processes
from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.actions.prove.verify_terminated import name_of
from hangtop.records.plan import Plan, Step, Target
from hangtop.system.processes.table import ProcessTable

SETTLE_S = 1.0
"""So long after the signals the targets are looked at again: by then a process without a handler has ended, and one in the
background that wants the terminal is stopped again (SIGTTIN, SIGTTOU; signal(7))."""


def send_signal(plan: Plan, table: ProcessTable, halt: CancelFlag) -> Iterator[Step]:
    """Each target gets `plan.signal` once. `proof`: it lives and runs; `failed`: it got none, ended, or is stopped."""
    number, own = signal.Signals[plan.signal], own_processes(table)
    with contextlib.ExitStack() as held:
        reached: list[VerifiedProcess] = []
        for target in plan.targets:
            if halt():
                yield step("skipped", f"{_name(target)} gets no {number.name}", target)
                continue
            try:
                aim = held.enter_context(contextlib.closing(VerifiedProcess(target, table, own, os.geteuid())))
                yield step("doing", f"{number.name} to {_name(target)}", target)
                aim.send(number)
            except (LookupError, PermissionError) as reason:
                yield step("failed", f"{_name(target)} got no {number.name}: {reason}", target)
            else:
                reached.append(aim)
        time.sleep(SETTLE_S if reached else 0.0)
        table.refresh([aim.target.pid for aim in reached])
        for aim in reached:
            yield _outcome(aim, number, table)


def _outcome(aim: VerifiedProcess, number: signal.Signals, table: ProcessTable) -> Step:
    stat = None if aim.gone() else table.stats.get(aim.target.pid)
    if stat is None:
        return step("failed", f"{_name(aim.target)} ended after {number.name}", aim.target)
    if stat.state in "Tt":
        return step("failed", f"{_name(aim.target)} is stopped: it wants a terminal, or somebody stops it again", aim.target)
    return step("proof", f"{_name(aim.target)} lives on", aim.target)


def _name(target: Target) -> str:
    return f"pid {target.pid} {name_of(target)}"
