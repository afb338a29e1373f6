"""End the processes of a plan: TERM, wait, KILL, children before parents; then look again, and say who survived and why."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Generator, Iterable, Iterator, Mapping

from hangtop.actions.signals import Aim
from hangtop.actions.steps import step
from hangtop.records.plan import Plan, Step, Target
from hangtop.sources.proc.rendezvous import LISTEN, read_connections
from hangtop.sources.proc.table import Identity, ProcessTable
from hangtop.sources.proc.tree import children_of, descendants
from hangtop.sources.proc.words import command_line
from hangtop.sources.proc.writers import ancestors

KILL_WAIT_S = 5.0
LOOK_EVERY_S = 0.05
RESTARTED_WITHIN_S = 1.5
"""A supervisor needs a moment to start what it lost."""
PORT_WAIT_S = 3.0


def end(plan: Plan, table: ProcessTable) -> Generator[Step, None, bool]:
    """Signal the targets of the plan, and nothing else. Gives whether all of them, and nothing like them, are gone."""
    table.refresh(tuple(table.stats))
    own = frozenset({os.getpid(), *ancestors(table.stats, os.getpid())})
    late = _started_since(plan, table)
    aims: list[Aim] = []
    for target in plan.targets:
        try:
            aims.append(Aim(target, table, own, os.geteuid()))
        except LookupError as reason:
            yield step("skipped", f"pid {target.pid}: {reason}", target)
    try:
        yield from _signal(aims, signal.SIGTERM)
        left = yield from _await(aims, plan.grace_s)
        if left:
            yield from _signal(left, signal.SIGKILL)
            yield from _await(left, KILL_WAIT_S)
        return (yield from _prove(plan, aims, late, table))
    finally:
        for aim in aims:
            aim.release()


def _signal(aims: Iterable[Aim], number: signal.Signals) -> Iterator[Step]:
    """One burst, children before parents, so that no launcher has the time to start a rank again. Told before it is done."""
    for aim in aims:
        yield step("doing", f"{number.name} to pid {aim.target.pid} {_name(aim.target)}", aim.target)
        try:
            aim.send(number)
            if aim.target.state in ("T", "t"):
                aim.send(signal.SIGCONT)
        except (LookupError, PermissionError) as reason:
            yield step("skipped", f"pid {aim.target.pid}: {reason}", aim.target)


def _await(aims: list[Aim], within_s: float) -> Generator[Step, None, list[Aim]]:
    """Say who ends; gives those that have not."""
    deadline = time.monotonic() + within_s
    left = list(aims)
    while left and time.monotonic() < deadline:
        ended = [aim for aim in left if aim.gone()]
        for aim in ended:
            left.remove(aim)
            yield step("done", f"pid {aim.target.pid} {_name(aim.target)} ended", aim.target)
        if left:
            time.sleep(LOOK_EVERY_S)
    return left


def _prove(plan: Plan, aims: list[Aim], late: Mapping[Identity, str], table: ProcessTable) -> Generator[Step, None, bool]:
    """Look again: who survived, in which state, and did anybody start it anew?"""
    survivors = 0
    for aim in aims:
        if (state := aim.state()) is not None:
            survivors += 1
            why = "blocked in the kernel, no signal reaches it" if state == "D" else f"state {state}"
            yield step("survived", f"pid {aim.target.pid} {_name(aim.target)}: {why}", aim.target)
    for pid, command in _await_restarted(plan, table):
        survivors += 1
        yield step("survived", f"pid {pid} runs the same command anew: a supervisor restarts it ({command})")
    for identity, command in late.items():
        if _lives(identity, table):
            survivors += 1
            yield step("survived", f"pid {identity.pid} was started after the plan was made, so it is not touched ({command})")
    ports = yield from _prove_ports(plan.ports)
    if not survivors:
        number = len(plan.targets)
        yield step("proof", "the process of the plan is gone" if number == 1 else f"all {number} processes of the plan are gone")
    return not survivors and ports


def _prove_ports(ports: Iterable[int]) -> Generator[Step, None, bool]:
    """Whether nobody listens there any more; the kernel may take a moment."""
    free = True
    for port in ports:
        until = time.monotonic() + PORT_WAIT_S
        while (taken := _listening(port)) and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
        free = free and not taken
        yield step("survived", f"port {port} is still listened on") if taken else step("proof", f"port {port} is free")
    return free


def _listening(port: int) -> bool:
    with contextlib.suppress(OSError):  # no /proc/net on this system: then nothing is known of ports
        return any(one.state == LISTEN and one.local_port == port for one in read_connections(os.getpid()))
    return False


def _started_since(plan: Plan, table: ProcessTable) -> dict[Identity, str]:
    """What the targets have started since the plan was made: it was not shown, so it is named and left alone."""
    known = {Identity(target.pid, target.start_ticks) for target in plan.targets}
    spared = {target.pid for target in plan.targets}
    children = children_of(table.stats)
    alive = [one.pid for one in known if one.pid in table.stats and table.stats[one.pid].identity == one]
    below = {pid for top in alive for pid in descendants(children, top)} - spared
    newest = max((target.start_ticks for target in plan.targets), default=0)
    found = (table.stats[pid] for pid in below if pid in table.stats)
    return {stat.identity: _command(table, stat.pid) for stat in found if stat.start_ticks > newest and stat.state not in "ZX"}


def _lives(identity: Identity, table: ProcessTable) -> bool:
    stat = table.stats.get(identity.pid)
    return stat is not None and stat.identity == identity and stat.state not in "ZX"


def _await_restarted(plan: Plan, table: ProcessTable) -> list[tuple[int, str]]:
    """Those that are started anew within a moment; at once when there is one."""
    until = time.monotonic() + RESTARTED_WITHIN_S
    while True:
        table.refresh(tuple(table.stats))
        if (found := list(_restarted(plan, table))) or time.monotonic() > until:
            return found
        time.sleep(LOOK_EVERY_S)


def _restarted(plan: Plan, table: ProcessTable) -> Iterator[tuple[int, str]]:
    """Processes that run a command of the plan and are younger than all of it."""
    commands = {target.command for target in plan.targets}
    known = {Identity(target.pid, target.start_ticks) for target in plan.targets}
    newest = max((target.start_ticks for target in plan.targets), default=0)
    for stat in table.stats.values():
        if stat.identity in known or stat.start_ticks <= newest or stat.kernel or stat.state in "ZX":
            continue
        command = _command(table, stat.pid)
        if command and command in commands and table.owner(stat.pid) == os.geteuid():
            yield stat.pid, command


def _command(table: ProcessTable, pid: int) -> str:
    """As the process source shows it; empty when it is gone."""
    with contextlib.suppress(OSError):
        return command_line(table.command(pid))
    return ""


def _name(target: Target) -> str:
    return f"rank {target.rank}" if target.rank is not None else target.role if target.role != "other" else target.command[:40]
