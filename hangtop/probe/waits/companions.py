"""Processes that the same job started beside the run: an evaluation daemon that a script starts before the trainer, and what that
daemon starts. They may give the run what it looks for. They are watched as a sign of life; nothing makes them the run's."""

from __future__ import annotations

import os
from collections.abc import Collection

from hangtop.system.processes.table import ProcessTable
from hangtop.system.processes.tree import ancestors, children_of, descendants

MOST = 32


def companions(table: ProcessTable, pids: Collection[int]) -> tuple[int, ...]:
    """Processes, with all below them, that share an ancestor with one of these, the process group in which that ancestor is, and
    the working folder. A shell with job control gives each job a group of its own, and several runs seldom share a folder."""
    stats, children = table.stats, children_of(table.stats)
    own = {below for pid in pids for below in descendants(children, pid)} | {os.getpid(), *ancestors(stats, os.getpid())}
    found: dict[int, None] = {}
    for pid in (pid for pid in pids if pid in stats):
        group, line = stats[pid].group, {pid, *ancestors(stats, pid)}
        above = [each for each in ancestors(stats, pid) if each in stats and stats[each].group == group]
        near = [child for each in above for child in children.get(each, ()) if child not in own | line]
        here = _folder(table, pid) if near else ""
        for sibling in near:
            if here and stats[sibling].group == group and _folder(table, sibling) == here:
                found |= dict.fromkeys(below for below in descendants(children, sibling) if below not in own)
    return tuple(found)[:MOST]


def _folder(table: ProcessTable, pid: int) -> str:
    """Empty where it is not told."""
    try:
        return table.cwd(pid)
    except OSError:
        return ""
