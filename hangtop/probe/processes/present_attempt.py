"""Since when the processes run that run now, and what of each log is older than they are.

What was written before they started is the past: a crash or an end of an earlier attempt, in a log that is appended to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from hangtop.records.process import Process
from hangtop.system.processes.roles import RELAYS, SHELLS, is_service
from hangtop.system.processes.table import Stat
from hangtop.system.processes.tree import ancestors

MEMBERS = ("rank", "other", "ray worker", "engine core")
LOOKS = 3
"""The first looks at a process may not tell what it wrote."""


class PresentAttempt(Struct, frozen=True):
    """`at`: unix time at which the oldest process that runs the program began. `older`: by real path of a log, the byte below
    which everything was written before. `looks`: how often that was worked out."""

    at: float
    older: Mapping[str, int] = {}
    looks: int = 1


def present(
    known: PresentAttempt | None,
    processes: Iterable[Process],
    stats: Mapping[int, Stat],
    logs: Mapping[str, tuple[int, float]],
    written_bytes: int | None,
    computed: Collection[int],
    drivers: Collection[int] = (),
) -> PresentAttempt | None:
    """The present attempt by this look; the `known` one where nothing runs any more. `logs`: size and time of the last write, by
    real path, read before `written_bytes`: what all processes of the run wrote since they started. `computed`: pids of these that
    ever did. `drivers`: pids of drivers of Ray, which run the program themselves: their actors come later, and come and go."""
    runs = [
        process
        for process in processes
        if process.pid in stats and (process.pid in drivers or _runs(process, process.pid in computed))
    ]
    if not runs:
        return known
    first = min(runs, key=lambda process: process.start_ticks)
    before = known if known is not None and known.at == first.started_at else None
    if before is not None and before.looks >= LOOKS:
        return before
    sure = written_bytes if _is_top(first, runs, stats) else None
    older = {path: _older(size, at, first.started_at, sure) for path, (size, at) in logs.items()}
    if before is not None:
        older = {path: max(below, before.older.get(path, 0)) for path, below in older.items()}
    return PresentAttempt(first.started_at, older, 1 if before is None else before.looks + 1)


def _runs(process: Process, computed: bool) -> bool:
    """Whether it runs the program: it starts nobody, passes nothing on, and has ever written or computed. What never did (`sleep
    infinity`, `tail -f /dev/null`) only keeps a container or a shell alive."""
    if process.exited or process.role not in MEMBERS or is_service(process.command):
        return False
    return process.name not in SHELLS | RELAYS and (computed or bool(process.wrote_bytes))


def _older(size_bytes: int, written_at: float, began_at: float, wrote_bytes: int | None) -> int:
    """All of it, if it was written last before the process began; else what is more than all that was written since."""
    if written_at <= began_at:
        return size_bytes
    return 0 if wrote_bytes is None else max(0, size_bytes - wrote_bytes)


def _is_top(first: Process, runs: Iterable[Process], stats: Mapping[int, Stat]) -> bool:
    """Whether all others came from it, and it was left by nobody: then all that was written since it began was written by the
    run's own processes, or by children that they waited for, which the kernel adds to theirs (proc(5), io)."""
    own, parent = stats[first.pid], stats.get(first.ppid)
    left = own.group != own.pid and (parent is None or parent.group != own.group)
    return not left and all(process.pid == first.pid or first.pid in ancestors(stats, process.pid) for process in runs)
