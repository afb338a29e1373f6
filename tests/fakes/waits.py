"""What real processes wait for, looked at until it is so."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from hangtop.diagnosis.facts.other_side import OtherSide, side_of
from hangtop.diagnosis.facts.wait_moves import moves_of, watch_of
from hangtop.probe.context import ProbeContext
from hangtop.probe.waits.wait_source import WaitSource
from hangtop.records.ask import WaitsAsk
from hangtop.records.waiting import OtherEnd, ThreadWait, WaitReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.records.watched_waits import WaitsReading
from hangtop.system.processes.open_table import open_table
from hangtop.system.waits.wait_reader import WaitReader
from tests.fakes.processes import eventually


def look(*pids: int, every_thread: bool = False) -> WaitReading:
    """One look with nothing remembered."""
    table = open_table()
    table.refresh(())
    return WaitReader(table).look(pids, every_thread=every_thread)


def wait_of(process: subprocess.Popen[bytes] | int, ready: Callable[[ThreadWait], object]) -> ThreadWait:
    """What the first thread of this process waits for, once `ready` says so."""
    pid = process if isinstance(process, int) else process.pid

    def seen() -> ThreadWait | None:
        return next((thread for thread in look(pid).threads if ready(thread)), None)

    return eventually(seen, "the wait")


def end_of(process: subprocess.Popen[bytes] | int, kind: str, object_kind: str) -> OtherEnd:
    """The one other end that it waits for, in a call and at an object of these kinds."""

    def ready(thread: ThreadWait) -> bool:
        return thread.call.kind == kind and [end.object.kind for end in thread.ends] == [object_kind]

    return wait_of(process, ready).ends[0]


def watch(*pids: int) -> WaitsReading:
    """The end of one watch; again where a crowded machine did not answer in time what a process waits for."""

    def seen() -> WaitsReading | None:
        source = WaitSource(ProbeContext(WatchSpec()))
        *_, last = source.answer(WaitsAsk(1, pids), time.time())
        assert isinstance(last, WaitsReading)
        assert last.done
        return last if all(process.threads for process in last.processes if process.pid in pids) else None

    return eventually(seen, "what they wait for")


def doing(pid: int) -> tuple[str | None, OtherSide | None, WaitsReading]:
    """What moves at the place where the first thread of this process waits, as a verb, and what the other end does."""
    reading = watch(pid)
    found = watch_of(reading)
    own = found.processes[pid]
    moved = moves_of(found, own, own.threads[0])
    return moved and moved.text.split(" ")[0], side_of(found, own, own.threads[0]), reading
