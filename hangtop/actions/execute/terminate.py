"""End the processes of a plan, wave by wave: TERM, wait, KILL, children before parents. Then end what they started meanwhile,
look again, and report what survived. That a person stops this run is recorded from before the first signal until the proof that
it is gone: it is then no crash.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from msgspec.structs import replace

from hangtop.actions.execute.newborns import Newborns
from hangtop.actions.execute.signals import VerifiedProcess, own_processes
from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.actions.prove.verify_terminated import SHOWN, StateBefore, look_before, name_of, prove, restarted, target_of
from hangtop.common import clock
from hangtop.records.plan import Plan, Step
from hangtop.records.stopped import FOR_GUARD, StoppedRun
from hangtop.system.processes.table import Identity, ProcessTable, Stat
from hangtop.system.stores import stop_store

KILL_WAIT_S = 5.0
LOOK_EVERY_S = 0.05
LOOK_SOON_S, SOON_S = 0.01, 1.0
"""A handler of TERM starts its child at once, and may be gone in the next moment: poll faster at first."""
RESTARTED_WITHIN_S = 1.5
"""A supervisor needs a moment to restart what ended."""
ROUNDS = 5
"""So many times new processes are ended; those that come after that are reported."""
SIZE_LOOKS, SIZE_LOOK_EVERY_S = 11, 0.1


def record_stop(plan: Plan, table: ProcessTable, ending: Generator[Step, None, bool]) -> Generator[Step, None, bool]:
    """`ending` ends the targets of the plan, and tells whether all are gone, as this does. Raises `OSError` before anything is
    done that it cannot record."""
    if plan.stops is None or not plan.stops.logs:
        return (yield from ending)
    table.refresh((os.getpid(),))
    ours = table.stats.get(os.getpid())
    ticks, by_guard = ours.start_ticks if ours is not None else 0, FOR_GUARD in os.environ
    known = StoppedRun(plan.action, plan.stops, clock.now(), os.getpid(), ticks, by_guard=by_guard)
    stop_store.keep(known)
    gone = False
    try:
        gone = yield from ending
    finally:
        if gone:
            stop_store.keep(replace(known, ended_at=clock.now(), sizes=_settled_sizes(plan.stops.logs)))
        else:
            stop_store.forget(known)
    return gone


def _settled_sizes(logs: Sequence[str]) -> dict[str, int]:
    """Bytes of each log once it no longer grows: the runner of a run that hangtop started may still copy its last output."""
    sizes: dict[str, int] = {}
    for _ in range(SIZE_LOOKS):
        before, sizes = sizes, {os.path.realpath(log): os.path.getsize(log) for log in logs if os.path.isfile(log)}
        if sizes == before:
            break
        time.sleep(SIZE_LOOK_EVERY_S)
    return sizes


def terminate_processes(plan: Plan, table: ProcessTable, halt: CancelFlag) -> Generator[Step, None, bool]:
    """Signal the targets of the plan and what they start meanwhile, nothing else. Returns whether all of it is gone."""
    table.refresh(tuple(table.stats))
    own = own_processes(table)
    known = look_before(plan, table)
    births = Newborns(plan, table)
    by_wave = attrgetter("target.wave")
    aims: list[VerifiedProcess] = []
    with contextlib.ExitStack() as held:
        for target in plan.targets:
            try:
                aims.append(held.enter_context(contextlib.closing(VerifiedProcess(target, table, own, os.geteuid()))))
            except LookupError as reason:
                yield step("skipped", f"pid {target.pid}: {reason}", target)
        for _, wave in groupby(sorted(aims, key=by_wave), key=by_wave):
            yield from _end_wave(list(wave), plan.grace_s, births, halt)
    yield from _end_born(plan, known, births, table, own, halt)
    return (yield from prove(plan, known, births, table))


def _end_born(
    plan: Plan, known: StateBefore, births: Newborns, table: ProcessTable, own: frozenset[int], halt: CancelFlag
) -> Iterator[Step]:
    """End newborns, round after round, until none is seen. Only the first round sends TERM: a handler that starts another process
    on TERM would go on for ever."""
    tried: set[Identity] = set()
    for number in range(ROUNDS):
        if halt.asked or not (newborn := _await_born(plan, known, births, table, tried)):
            return
        tried.update(stat.identity for stat, _ in newborn)
        aims: list[VerifiedProcess] = []
        with contextlib.ExitStack() as held:
            for stat, why in newborn:
                target = target_of(stat, table)
                with contextlib.suppress(LookupError):  # it has ended, or is another user's: then it is named in the end
                    aims.append(held.enter_context(contextlib.closing(VerifiedProcess(target, table, own, os.geteuid()))))
                    yield step("doing", f"pid {stat.pid} came meanwhile ({why}) and ends too: {target.command[:SHOWN]}", target)
            yield from _end_wave(aims, plan.grace_s, births, halt, gently=number == 0)


def _await_born(
    plan: Plan, known: StateBefore, births: Newborns, table: ProcessTable, tried: Collection[Identity]
) -> list[tuple[Stat, str]]:
    """Newborns that were not dealt with, once two polls agree; after a while, those that are known by then."""
    until = time.monotonic() + RESTARTED_WITHIN_S
    before: list[Identity] | None = None
    while True:
        births.look(into_files=True)
        born = [(stat, why) for stat, why in births.living() if stat.identity not in tried]
        names = [stat.identity for stat, _ in born]
        settled = names == before and (born or restarted(plan, known, births, table))
        if settled or (before is not None and time.monotonic() > until):
            return born
        before = names
        time.sleep(LOOK_EVERY_S)


def _end_wave(
    aims: list[VerifiedProcess], grace_s: float, births: Newborns, halt: CancelFlag, *, gently: bool = True
) -> Iterator[Step]:
    """TERM, wait, KILL. Processes that ended together with an earlier wave are reported, and not signalled."""
    left = yield from _await(aims, 0.0, births, halt)
    if gently:
        yield from _signal(left, signal.SIGTERM, halt)
        left = yield from _await(left, grace_s, births, halt)
    if left:
        yield from _signal(left, signal.SIGKILL, halt)
        yield from _await(left, KILL_WAIT_S, births, halt)


def _signal(aims: Sequence[VerifiedProcess], number: signal.Signals, halt: CancelFlag) -> Iterator[Step]:
    """One burst, children before parents, so that no launcher has time to start a rank again. Each is logged before it goes."""
    for place, aim in enumerate(aims):
        if halt():
            for left in aims[place:]:
                yield step("skipped", f"pid {left.target.pid} {name_of(left.target)} gets no {number.name}", left.target)
            return
        yield step("doing", f"{number.name} to pid {aim.target.pid} {name_of(aim.target)}", aim.target)
        try:
            aim.send(number)
            if aim.target.state in ("T", "t"):
                aim.send(signal.SIGCONT)
        except (LookupError, PermissionError) as reason:
            yield step("skipped", f"pid {aim.target.pid}: {reason}", aim.target)


def _await(
    aims: list[VerifiedProcess], within_s: float, births: Newborns, halt: CancelFlag
) -> Generator[Step, None, list[VerifiedProcess]]:
    """Report which processes end, and look for newborns; returns those that have not ended."""
    began = time.monotonic()
    left = list(aims)
    while left:
        births.look()
        ended = [aim for aim in left if aim.gone()]
        for aim in ended:
            left.remove(aim)
            yield step("done", f"pid {aim.target.pid} {name_of(aim.target)} ended", aim.target)
        now = time.monotonic()
        if not left or halt.asked or now >= began + within_s:
            break
        time.sleep(LOOK_SOON_S if now < began + SOON_S else LOOK_EVERY_S)
    return left
