"""What a stack that stands in the log tells of its process, by the names of slots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from hangtop.common.text import some
from hangtop.diagnosis.facts.stacks_in_log import Printed
from hangtop.diagnosis.members.parallel_groups import PAIRWISE
from hangtop.records.stack import Frame, Stack, Thread
from hangtop.stacks.activity import Activity, activity_of
from hangtop.stacks.frames import owner

TAKES_GIL = frozenset({"take_gil", "PyEval_AcquireThread", "PyEval_RestoreThread", "PyGILState_Ensure"})
"""Functions of CPython in which a thread waits for the GIL (Python/ceval_gil.c)."""
FORK = ("multiprocessing/popen_fork.py", "multiprocess/popen_fork.py")
WORKER_LOOP = "torch/utils/data/_utils/worker.py"
FEW_ALIKE = 3
"""Two processes may stand at one line by chance."""


def of_printed(printed: Printed) -> dict[str, str]:
    """What one process does by its last stack in the log."""
    known = printed.does
    seen = {"own": known.own.name, "where": known.where, "does": known.text}
    if known.kind == "collective":
        seen["in_collective"] = "yes"
    if known.waits_for_peers and not PAIRWISE.isdisjoint(frame.name for frame in known.thread.frames):
        seen["between_two"] = "yes"
    if was_forked(known.thread.frames):
        seen["in_fork"] = "yes"
    if any(frame.file.endswith(WORKER_LOOP) for frame in known.thread.frames):
        seen["in_data_worker"] = "yes"
    if known.kind == "gpu" and known.thread.owns_gil and any(map(_takes_gil, printed.stack.threads)):
        seen["gil"] = "yes"
    if known.kind == "lock" and (second := another_at_a_lock(printed.stack, known)) is not None:
        seen["second"] = f"{second.own.name} ({second.where})"
    return seen


def was_forked(frames: Iterable[Frame]) -> bool:
    """Whether this stack began in a fork of a Python process."""
    return any(frame.file.endswith(FORK) for frame in frames)


def of_all_printed(told: Sequence[Printed]) -> dict[str, str]:
    """How many processes printed a stack, where all of them stand at one line of the program: what they are in there is joint."""
    places = {each.does.where for each in told}
    return {"alike": some(len(told), "process")} if len(told) >= FEW_ALIKE and len(places) == 1 else {}


def _takes_gil(thread: Thread) -> bool:
    return any(frame.name in TAKES_GIL for frame in thread.frames)


def another_at_a_lock(stack: Stack, first: Activity) -> Activity | None:
    """What another thread of the same process does that waits for a lock, too, but for those of Python itself."""
    for known in _others(stack, first):
        if known.kind == "lock" and owner(known.own.file) != "python":
            return known
    return None


def _others(stack: Stack, first: Activity) -> Iterator[Activity]:
    for thread in stack.threads:
        if thread is not first.thread and (known := activity_of(replace(stack, threads=(thread,)))) is not None:
            yield known
