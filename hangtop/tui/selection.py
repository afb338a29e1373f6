"""What an action key acts on: a rank, or a process that is no rank. Each page and pane says what it has to offer."""

from __future__ import annotations

from typing import NamedTuple

from hangtop.records.process import Process
from hangtop.records.ray.cluster import RayActor
from hangtop.render.processes.process_lines import members, readings_of
from hangtop.render.processes.process_tree import ProcessKey
from hangtop.render.view import View


class Selection(NamedTuple):
    """All `None`: the whole run. `host`: of the process, empty if unknown. `alike`: how many ranks or processes the chosen line
    stands for; 0 if it stands for none."""

    rank: int | None = None
    pid: int | None = None
    host: str = ""
    alike: int = 1


def select_process(view: View, key: ProcessKey) -> Selection:
    """The rank that this process is or descends from, else the process itself."""
    by_pid = {(member.host, member.process.pid): member for member in members(view, readings_of(view))}
    host, pid, start_ticks = key
    member = by_pid.get((host, pid))
    if member is None or member.process.start_ticks != start_ticks:
        return Selection(pid=pid, host=host)
    seen: set[int] = set()
    process: Process | None = member.process
    while process is not None and process.pid not in seen:
        seen.add(process.pid)
        if (number := by_pid[host, process.pid].number) is not None:
            return Selection(number, host=host)
        process = parent.process if (parent := by_pid.get((host, process.ppid))) is not None else None
    return Selection(pid=pid, host=host)


def select_actor(actor: RayActor) -> Selection:
    """The rank of this actor, else its process."""
    return Selection(actor.rank) if actor.rank is not None else Selection(pid=actor.pid, host=actor.host or "")
