"""Ranks that no environment numbers: those of multiprocessing, those numbered in their command line, and the dead. Pure.

`torch.multiprocessing.spawn` and every launcher's own loop start rank 0 first; a forked child sets RANK after its environment was
copied, so that /proc/PID/environ does not show it, and a zombie has none any more (proc(5)).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from hangtop.records.process import Process
from hangtop.sources.proc.roles import is_forked

MEMBERS = ("other", "rank")
ARGUMENT = re.compile(r"(?<!\S)--(?:local[_-])?rank[= ](\d{1,5})(?!\S)")
"""`python -m torch.distributed.launch` passes `--local-rank`, and home-made launchers `--rank`."""


def siblings(processes: Iterable[Process]) -> tuple[Process, ...]:
    """The largest group of children of one parent that run its program, in order of their start; a zombie is one of them still.

    Fewer than two are no group, nor are those that a number of their own tells apart.
    """
    known = {process.pid: process for process in processes}
    groups: dict[int, list[Process]] = {}
    for process in known.values():
        if process.ppid > 1 and process.rank is None and process.role in MEMBERS:
            groups.setdefault(process.ppid, []).append(process)
    alike = [_alike(group, known.get(parent)) for parent, group in groups.items()]
    largest = max(alike, key=len, default=[])
    return tuple(sorted(largest, key=lambda one: (one.start_ticks, one.pid))) if len(largest) > 1 else ()


def _alike(group: list[Process], parent: Process | None) -> list[Process]:
    """Copies of their parent, or of each other where it is not of the run, and fresh interpreters that multiprocessing started.

    A zombie shows only its name.
    """
    model = parent or group[0]
    return [
        one
        for one in group
        if (one.name == model.name if one.state in "ZX" else one.command == model.command or is_forked(one.command.split()))
    ]


def numbered(processes: Collection[Process], world: int | None, peers: Collection[int]) -> dict[int, int]:
    """Rank by pid. `world`: how many ranks the log names; `peers`: pids that are seen to wait for their peers.

    Only where the log counts as many ranks as there are siblings, or two of them wait for each other: workers of a pool do not.
    """
    if by_line := by_argument(processes):
        return by_line
    crew = siblings(processes)
    meets = sum(one.pid in peers for one in crew) > 1
    if not crew or not (len(crew) == world or (meets and world in (None, 1))):
        return {}
    return {process.pid: place for place, process in enumerate(crew)}


def by_argument(processes: Iterable[Process]) -> dict[int, int]:
    """Rank by pid, from the command lines of children of one parent; nothing unless each has a number of its own."""
    groups: dict[int, list[tuple[int, int]]] = {}
    for process in processes:
        if process.rank is None and process.role in MEMBERS and (found := ARGUMENT.findall(process.command)):
            groups.setdefault(process.ppid, []).append((process.pid, int(found[-1])))
    largest = max((len(group) for group in groups.values()), default=0)
    numbers = dict(next((group for group in groups.values() if len(group) == largest), []))
    return numbers if len(numbers) > 1 and len(set(numbers.values())) == len(numbers) else {}


def dead(processes: Collection[Process], ranks: dict[int, Process], world: int | None) -> dict[int, int]:
    """Rank by pid of zombies beside the `ranks`, children of one parent, where as many ranks of this machine are missing."""
    gaps = missing_here(ranks, world)
    parents = {process.ppid for process in ranks.values()}
    zombies = [one for one in processes if one.state in "ZX" and one.ppid in parents and one.rank is None and one.role in MEMBERS]
    zombies.sort(key=lambda one: (one.start_ticks, one.pid))
    return {one.pid: rank for one, rank in zip(zombies, gaps, strict=True)} if len(zombies) == len(gaps) else {}


def missing_here(ranks: Collection[int], world: int | None) -> tuple[int, ...]:
    """Ranks that must have run on this machine, and have no process here.

    Machines hold equal blocks of consecutive ranks: a gap between two that are here was here, and so was one of the others when
    the world does not divide into blocks of as many as are left. Otherwise the missing may run elsewhere.
    """
    if not ranks or world is None:
        return ()
    inside = tuple(rank for rank in range(min(ranks), max(ranks)) if rank not in ranks)
    whole = tuple(rank for rank in range(world) if rank not in ranks)
    uneven = world % len(ranks) != 0 and 2 * len(ranks) > world
    return whole if uneven else inside
