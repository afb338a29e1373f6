"""Record that a person stops this run, from before the first signal until the proof that it is gone: it is then no crash."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence

from msgspec.structs import replace

from hangtop.actions.execute.steps import CancelFlag
from hangtop.actions.execute.terminate import terminate_processes
from hangtop.common import clock
from hangtop.records.plan import Plan, Step
from hangtop.records.stopped import StoppedRun
from hangtop.system.processes.table import ProcessTable
from hangtop.system.stores import stop_store

POLLS, POLL_S = 10, 0.1


def record_stop(plan: Plan, table: ProcessTable, halt: CancelFlag) -> Generator[Step, None, bool]:
    """End the targets of the plan; returns whether all are gone. Raises `OSError` when it cannot be recorded: then nothing is
    done."""
    if plan.stops is None or not plan.stops.logs:
        return (yield from terminate_processes(plan, table, halt))
    table.refresh((os.getpid(),))
    ours = table.stats.get(os.getpid())
    known = StoppedRun(plan.action, plan.stops, clock.now(), os.getpid(), ours.start_ticks if ours is not None else 0)
    stop_store.keep(known)
    gone = False
    try:
        gone = yield from terminate_processes(plan, table, halt)
    finally:
        if gone:
            stop_store.keep(replace(known, ended_at=clock.now(), sizes=_settled_sizes(plan.stops.logs)))
        else:
            stop_store.forget(known)
    return gone


def _settled_sizes(logs: Sequence[str]) -> dict[str, int]:
    """Bytes of each log once it no longer grows: the runner of a run that hangtop started may still copy its last output."""
    sizes = _sizes(logs)
    for _ in range(POLLS):
        time.sleep(POLL_S)
        if (now := _sizes(logs)) == sizes:
            break
        sizes = now
    return sizes


def _sizes(logs: Sequence[str]) -> dict[str, int]:
    return {os.path.realpath(log): os.path.getsize(log) for log in logs if os.path.isfile(log)}
