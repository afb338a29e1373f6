"""The process that carries out a plan. It goes on when the screen is closed.

stdin: the plan, one JSON document. stdout: its steps, one JSON line each. Every step is first written to the action log.
SIGTERM: begin no further step, and say what was left undone.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator, Iterator, Sequence

import msgspec

from hangtop.actions.execute import start_ray
from hangtop.actions.execute.client import wait_for_start_check
from hangtop.actions.execute.commands import gather, started
from hangtop.actions.execute.delete_leftovers import remove
from hangtop.actions.execute.lock import HeldError, locked
from hangtop.actions.execute.other_nodes import OtherNodes
from hangtop.actions.execute.send_signal import send_signal
from hangtop.actions.execute.steps import ActionLog, ActionLogError, CancelFlag, step
from hangtop.actions.execute.terminate import record_stop, terminate_processes
from hangtop.actions.prove import verify_restart
from hangtop.actions.prove.gpu_freed import wait_gpu_freed
from hangtop.actions.prove.premise import broken, intruders, writers
from hangtop.common import text
from hangtop.records.plan import Plan, Start, Step, fit_ask
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import Identity, ProcessTable
from hangtop.system.stores import launch_store

BROKEN_OFF = "broken off as asked: what is not told as done was not done; the same command does the rest"


def execute(plan: Plan, table: ProcessTable, halt: CancelFlag | None = None) -> Iterator[Step]:
    """Carry out the plan, under a lock on all that it touches until the end is proven; then watch what was started."""
    halt = halt or CancelFlag()
    try:
        with locked(plan):
            mark = yield from _parts(plan, table, halt)
    except HeldError as held:
        yield step("failed", f"{held}; nothing was done")
    else:
        if plan.watch is not None and mark is not None:
            yield from verify_restart.verified(plan.watch, mark, halt)
    finally:
        launch_store.discard(start.environ_file for start in plan.ray)
    if halt.obeyed:
        yield step("failed", BROKEN_OFF)


def _parts(plan: Plan, table: ProcessTable, halt: CancelFlag) -> Generator[Step, None, verify_restart.LogLengths | None]:
    """Each part only when the one before it succeeded. Returns where the new run begins in the logs, if one was started."""
    try:
        nodes = start_ray.prepared(plan.ray)
    except (OSError, msgspec.DecodeError) as error:
        yield step("failed", f"nothing was done, because Ray could not be started again: {_named(error)}")
        return None
    if not (yield from gather(plan.evidence, halt)):
        return None
    table.refresh(tuple(table.stats))
    if plan.signal:
        yield from send_signal(plan, table, halt)
        return None
    if plan.start is not None and not (yield from _may_begin(plan, table)):
        return None
    before = writers(plan.start, table) if plan.start is not None else frozenset[Identity]()
    others = OtherNodes(plan)
    try:
        return (yield from _end_and_start(plan, others, nodes, before, table, halt))
    finally:
        others.close()


def _end_and_start(
    plan: Plan,
    others: OtherNodes,
    nodes: Sequence[start_ray.Prepared],
    before: frozenset[Identity],
    table: ProcessTable,
    halt: CancelFlag,
) -> Generator[Step, None, verify_restart.LogLengths | None]:
    """Here and on the other nodes at the same time; what is started here comes first."""
    if not (yield from others.begin()) and plan.start is not None:
        yield step("failed", "nothing was signalled, because the run could not be started again on all nodes")
        return None
    ended = not (plan.everywhere or plan.unseen) or (yield from record_stop(plan, table, _ended(plan, others, table, halt)))
    freed = yield from wait_gpu_freed(plan, halt)
    if not (ended and freed) and (plan.start is not None or plan.ray):
        yield step("failed", "nothing was started, because something of the old run is left")
        return None
    if plan.removals:
        yield from remove(plan, table, halt)
    yield from others.remove(halt)
    if nodes and not (yield from start_ray.started(nodes, halt)) and plan.start is not None:
        yield step("failed", "the run was not started, because Ray is not as it was")
        return None
    mark = None if plan.start is None else (yield from _start(plan, plan.start, before, table, halt))
    return mark if mark is not None and (yield from others.start(halt)) else None


def _ended(plan: Plan, others: OtherNodes, table: ProcessTable, halt: CancelFlag) -> Generator[Step, None, bool]:
    """End the targets on all nodes. Returns whether all are gone. A line that a job of the scheduler carries ends with that job,
    which may end with the targets here: then the others come first."""
    yield from others.term(halt)
    if others.end_with_us:
        there = yield from others.finish(halt)
        return (not plan.targets or (yield from terminate_processes(plan, table, halt))) and there
    here = not plan.targets or (yield from terminate_processes(plan, table, halt))
    return (yield from others.finish(halt)) and here


def _may_begin(plan: Plan, table: ProcessTable) -> Generator[Step, None, bool]:
    """Whether the run is still the one of the plan, and can be started again. After the first signal there is no way back."""
    if (why := broken(plan, table)) is not None:
        yield step("failed", f"nothing was signalled or started: {why}")
        return False
    ask = fit_ask(plan)
    if ask is None or not (plan.targets or plan.removals or plan.ray):
        return True
    found = wait_for_start_check(ask)
    for problem in found.problems:
        yield step("failed", f"nothing was signalled, because the run could not be started again: {problem}")
    return not found.problems


def _start(
    plan: Plan, start: Start, before: frozenset[Identity], table: ProcessTable, halt: CancelFlag
) -> Generator[Step, None, verify_restart.LogLengths | None]:
    """Start the run. `before`: the processes that wrote to its output when the plan began."""
    if halt():
        yield step("skipped", "nothing was started")
        return None
    if start.repeats is not None:
        table.refresh(tuple(table.stats))
        if (why := intruders(start, before, plan, table)) is not None:
            yield step("failed", f"nothing was started: {why}")
            return None
    mark = verify_restart.LogLengths(plan.watch.logs if plan.watch is not None else ())
    return mark if (yield from started(start)) else None


def main() -> None:
    halt = CancelFlag()
    halt.listen()
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    try:
        whole = _carry_out(plan, ActionLog(), halt)
    except ActionLogError as error:
        _tell(step("failed", f"{error}: what is not logged is not done"))
        whole = False
    os._exit(0 if whole else 1)  # without a last flush of stdout, which would fail when nobody reads


def _carry_out(plan: Plan, log: ActionLog, halt: CancelFlag) -> bool:
    """Write each step to the action log, then to stdout, and an error with the last step before it. Returns whether all went."""
    last = "its beginning"
    try:
        for done in execute(plan, open_table(), halt):
            log.write(plan, done)
            _tell(done)
            last = done.text
    except ActionLogError:
        raise
    except Exception as error:
        failed = step("failed", f"it broke off after “{last}”: {_named(error)}; what is not told as done was not done")
        log.write(plan, failed)
        _tell(failed)
        return False
    return True


def _tell(done: Step) -> None:
    """A JSON line on stdout. The reader may have gone: the plan goes on."""
    with contextlib.suppress(OSError):
        sys.stdout.buffer.write(msgspec.json.encode(done) + b"\n")
        sys.stdout.buffer.flush()


def _named(error: Exception) -> str:
    """The error in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else f"{error.strerror} (system call, no file named)"
    return f"{type(error).__name__}: {text.first_line(str(error))}"


if __name__ == "__main__":
    main()
