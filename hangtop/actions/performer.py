"""The process that carries out a plan. It goes on when the screen goes away.

stdin: the plan, one JSON document. stdout: its steps, one JSON line each. Every step is first written to the action log.
SIGTERM: begin no further step, and say what was left undone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import msgspec

from hangtop import launches
from hangtop.actions import errands, raystart, watching
from hangtop.actions.journal import Journal
from hangtop.actions.journal import path as journal_path
from hangtop.actions.launching import started
from hangtop.actions.released import released
from hangtop.actions.removing import remove
from hangtop.actions.steps import Halt, step
from hangtop.actions.stopping import stopped
from hangtop.records.plan import Plan, Start, Step
from hangtop.sources.proc.table import ProcessTable
from hangtop.sources.processes import open_table

BROKEN_OFF = "broken off as asked: what is not told as done was not done; the same command does the rest"


def perform(plan: Plan, table: ProcessTable, halt: Halt | None = None) -> Iterator[Step]:
    """The plan, and when it was broken off a last word on that."""
    halt = halt or Halt()
    try:
        yield from _parts(plan, table, halt)
    finally:
        launches.discard(start.environ_file for start in plan.ray)
    if halt.obeyed:
        yield step("failed", BROKEN_OFF)


def _parts(plan: Plan, table: ProcessTable, halt: Halt) -> Iterator[Step]:
    """One after the other; the next only when the one before did what it should."""
    try:
        nodes = raystart.prepared(plan.ray)
    except (OSError, msgspec.DecodeError) as error:
        yield step("failed", f"nothing was done, for Ray could not be started again: {error}")
        return
    yield from errands.run_all(plan.errands, halt)
    ended = not plan.targets or (yield from stopped(plan, table, halt))
    freed = yield from released(plan, halt)
    if not (ended and freed) and (plan.start is not None or plan.ray):
        yield step("failed", "nothing was started, for something of the old run is left")
        return
    if plan.removals:
        yield from remove(plan, table, halt)
    if nodes and not (yield from raystart.started(nodes, halt)) and plan.start is not None:
        yield step("failed", "the run was not started, for Ray is not as it was")
        return
    if plan.start is not None:
        yield from _start(plan, plan.start, halt)


def _start(plan: Plan, start: Start, halt: Halt) -> Iterator[Step]:
    """The run, and the look at it."""
    if halt():
        yield step("skipped", "nothing was started")
        return
    mark = watching.Mark(plan.watch.logs) if plan.watch is not None else None
    if (yield from started(start)) and plan.watch is not None and mark is not None:
        yield from watching.watched(plan.watch, mark, halt)


class Told:
    """Where steps are told: nobody may be listening any more."""

    def __init__(self) -> None:
        self._listening = True

    def tell(self, said: Step) -> None:
        if not self._listening:
            return
        try:
            sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
            sys.stdout.buffer.flush()
        except OSError:
            self._listening = False

    def leave(self, code: int) -> None:
        """Without a last flush of stdout, which would fail when nobody listens."""
        os._exit(code)


def main() -> None:
    halt = Halt()
    halt.listen()
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    told = Told()
    try:
        journal = Journal()
        for said in perform(plan, open_table(), halt):
            journal.write(plan, said)
            told.tell(said)
    except OSError as error:
        told.tell(step("failed", f"{error.filename or journal_path()}: {error.strerror}: what is not logged is not done"))
        told.leave(1)
    told.leave(0)


if __name__ == "__main__":
    main()
