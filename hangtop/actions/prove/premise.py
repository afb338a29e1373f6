"""What a plan to start a run assumes, checked again right before its first signal and right before the start.

A plan may be minutes old, and a second restart, a supervisor or a colleague may work on the same run. A run must never be started
beside a copy of itself.
"""

from __future__ import annotations

import os
from functools import partial

from hangtop.actions.execute.signals import living
from hangtop.common import text
from hangtop.common.raw_text import to_os
from hangtop.records.launch import Launch
from hangtop.records.plan import Plan, Start
from hangtop.system.guard import Guard
from hangtop.system.processes.roles import RUNNER
from hangtop.system.processes.table import Identity, OpenFile, ProcessTable
from hangtop.system.stores import launch_store

AGAIN = "make the plan anew: it will be of what is there now"


def broken(plan: Plan, table: ProcessTable) -> str | None:
    """Why the plan no longer holds, in one line; `None` when it does. Ask before the first signal, with a fresh table."""
    start = plan.start
    if start is None or start.repeats is None:
        return None
    old = start.repeats
    alive = _alive(Identity(old.pid, old.start_ticks), table)
    if old.lives and not alive:
        return f"pid {old.pid} has ended since the plan was made, by itself or by somebody else; {AGAIN}"
    if alive and not old.lives:
        return f"pid {old.pid} was taken to have ended, and lives; {AGAIN}"
    if (newer := _newer(start, table)) is not None:
        return f"pid {newer.pid}, attempt {newer.attempt} of this run, was started at {text.clock(newer.started_at)}; {AGAIN}"
    if not old.lives and (others := writers(start, table)):
        return f"{_named(others, table)} writes to {start.log}, so the run seems to live; {AGAIN}"
    return None


def writers(start: Start, table: ProcessTable) -> frozenset[Identity]:
    """The processes that have the output of the new run open for writing; not hangtop's runners, which the launch store knows."""
    log = os.path.realpath(to_os(start.log))
    others = [stat for stat in table.stats.values() if not stat.kernel and stat.state not in "ZX" and stat.pid != os.getpid()]
    asked = {stat.identity: partial(table.open_files, stat.pid) for stat in others}
    answers = Guard[Identity, tuple[OpenFile, ...]]().known(asked)
    ours = [(identity, file) for identity, files in answers.items() for file in files if file.target == log]
    holding = {identity for identity, file in ours if file.writable and not file.deleted}
    return frozenset(identity for identity in holding if RUNNER not in _command(identity.pid, table))


def intruders(start: Start, before: frozenset[Identity], plan: Plan, table: ProcessTable) -> str | None:
    """In one line, processes that began to write to the output while the plan was carried out; `None` when there are none."""
    known = before | {Identity(target.pid, target.start_ticks) for target in plan.targets}
    others = writers(start, table) - known
    return f"{_named(others, table)} began to write to {start.log} meanwhile: somebody else has started it" if others else None


def _newer(start: Start, table: ProcessTable) -> Launch | None:
    """A newer start with the same output than the one to repeat. While that one lives, only a newer one that lives too counts."""
    old, known = start.repeats, launch_store.latest(os.path.realpath(to_os(start.log)))
    if old is None or known is None or (known.pid, known.start_ticks) == (old.pid, old.start_ticks):
        return None
    if known.started_at <= old.started_at or (old.lives and not _alive(Identity(known.pid, known.start_ticks), table)):
        return None
    return known


def _alive(identity: Identity, table: ProcessTable) -> bool:
    table.refresh((identity.pid,))
    return living(identity, table) is not None


def _command(pid: int, table: ProcessTable) -> str:
    try:
        return " ".join(table.command(pid))
    except OSError:  # gone meanwhile
        return ""


def _named(others: frozenset[Identity], table: ProcessTable) -> str:
    first = min(others)
    stat = table.stats.get(first.pid)
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    return f"pid {first.pid} ({stat.name if stat else '?'}){more}"
