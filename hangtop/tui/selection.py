"""What a person has chosen, in whichever pane or page is in front: a rank, or a process that is none. A key acts on that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hangtop.records.process import Process
from hangtop.records.ray import RayActor
from hangtop.render.processes.process_lines import members, readings_of
from hangtop.render.processes.process_tree import Key
from hangtop.tui.pages.actor_page import ActorScreen
from hangtop.tui.pages.process_page import ProcessScreen
from hangtop.tui.pages.rank_page import RankScreen
from hangtop.tui.panes.gpus_pane import GpusPane
from hangtop.tui.panes.ray_pane import RayPane

if TYPE_CHECKING:
    from hangtop.tui.app import HangtopApp


class Selection(NamedTuple):
    """Nothing chosen: all `None`. `host`: of the process, empty when not known. `alike`: for so many the chosen line stands."""

    rank: int | None = None
    pid: int | None = None
    host: str = ""
    alike: int = 1


def selected(app: HangtopApp) -> Selection:
    """A page tells what it is about; else the pane that was opened last has the say."""
    front: object = app.screen
    match front:
        case RankScreen(rank=rank):
            return Selection(rank)
        case ProcessScreen(key=key):
            return _of_process(app, key)
        case ActorScreen(actor=actor) if actor is not None:
            return _of_actor(actor)
    watch = app.watch_screen
    match watch.active:
        case "procs" if (node := watch.processes_pane.chosen_node()) is not None:
            key = watch.processes_pane.chosen or node.members[0].key
            return _of_process(app, key) if len(node.members) == 1 else Selection(alike=len(node.members))
        case "gpus" if (ranks := watch.query_one(GpusPane).chosen_ranks()) is not None:
            return Selection(ranks[0]) if len(ranks) == 1 else Selection(alike=len(ranks))
        case "ray" if (row := watch.query_one(RayPane).chosen_row()) is not None:
            return _of_actor(row.first) if len(row.actors) == 1 else Selection(alike=len(row.actors))
    return Selection(watch.ranks_pane.chosen)


def _of_process(app: HangtopApp, key: Key) -> Selection:
    """The rank it is or belongs to, else the process itself."""
    readings = readings_of(app.view)
    found = members(app.view, {host: reading.processes for host, reading in readings.items()})
    by_pid = {(member.host, member.process.pid): member for member in found}
    host, pid, start_ticks = key
    member = by_pid.get((host, pid))
    if member is None or member.process.start_ticks != start_ticks:
        return Selection(pid=pid, host=host)
    seen: set[int] = set()
    at: Process | None = member.process
    while at is not None and at.pid not in seen:
        seen.add(at.pid)
        if (number := by_pid[host, at.pid].number) is not None:
            return Selection(number, host=host)
        at = parent.process if (parent := by_pid.get((host, at.ppid))) is not None else None
    return Selection(pid=pid, host=host)


def _of_actor(actor: RayActor) -> Selection:
    return Selection(actor.rank) if actor.rank is not None else Selection(pid=actor.pid, host=actor.host or "")
