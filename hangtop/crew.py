"""The ranks of a run that multiprocessing started: nobody's environment numbers them, the order of their start does. Pure.

`torch.multiprocessing.spawn` and every launcher's own loop start rank 0 first; a forked child sets RANK after its environment was
copied, so that /proc/PID/environ does not show it (proc(5)).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hangtop.records.process import Process
from hangtop.sources.proc.roles import is_forked

MEMBERS = ("other", "rank")


def siblings(processes: Iterable[Process]) -> tuple[Process, ...]:
    """The largest group of children of one parent that run its program, in order of their start; a zombie is one of them still.

    Fewer than two are no group, nor are those that a number of their own tells apart.
    """
    known = {process.pid: process for process in processes}
    groups: dict[int, list[Process]] = {}
    for process in known.values():
        parent = known.get(process.ppid)
        if parent is not None and process.rank is None and process.role in MEMBERS and _alike(process, parent):
            groups.setdefault(parent.pid, []).append(process)
    largest = max(groups.values(), key=len, default=[])
    return tuple(sorted(largest, key=lambda one: (one.start_ticks, one.pid))) if len(largest) > 1 else ()


def _alike(process: Process, parent: Process) -> bool:
    """A copy of its parent, or a fresh interpreter that multiprocessing started for it; a zombie shows only its name."""
    if process.state in "ZX":
        return process.name == parent.name
    return process.command == parent.command or is_forked(process.command.split())


def numbered(processes: Collection[Process], world: int | None, peers: Collection[int]) -> dict[int, int]:
    """Rank by pid. `world`: how many ranks the log names; `peers`: pids that are seen to wait for their peers.

    Only where the log counts as many ranks as there are siblings, or two of them wait for each other: workers of a pool do not.
    """
    crew = siblings(processes)
    meets = sum(one.pid in peers for one in crew) > 1
    if not crew or not (len(crew) == world or (meets and world in (None, 1))):
        return {}
    return {process.pid: place for place, process in enumerate(crew)}
