"""Does Ray still start workers on this machine? By the processes below its raylets that are no worker with a title yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hangtop.system.processes.table import Identity, ProcessTable
from hangtop.system.processes.tree import children_of


class WorkerStarts:
    """Remembers the CPU time of what is being started. For one calling thread.

    A worker has no title before it has imported Ray, which takes seconds; `pip` for a runtime environment runs below the agent of
    that. What has a title, and whatever is below it, is no start.
    """

    def __init__(self) -> None:
        self._ticks: Mapping[Identity, int] = {}
        self._moved: dict[int, float] = {}

    def moved(self, table: ProcessTable, raylets: Collection[int], known: Mapping[int, bool], now: float) -> Mapping[int, float]:
        """By pid of a raylet: when anything that it starts was last seen to be new, or to take CPU time. `known`: pids of daemons
        and of workers with a title; whether it is a daemon."""
        children, ticks = children_of(table.stats), dict[Identity, int]()
        for raylet in raylets:
            below = list(children.get(raylet, ()))
            while below:
                pid = below.pop()
                stat = table.stats[pid]
                if pid not in known:
                    ticks[stat.identity] = stat.cpu_ticks
                    if self._ticks.get(stat.identity) != stat.cpu_ticks:
                        self._moved[raylet] = now
                if known.get(pid, True):
                    below += children.get(pid, ())
        self._ticks = ticks
        self._moved = {raylet: at for raylet, at in self._moved.items() if raylet in raylets}
        return dict(self._moved)
