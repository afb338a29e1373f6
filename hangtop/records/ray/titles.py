"""What the process title of a Ray worker says. Pure.

Ray sets it with setproctitle: `ray::Class.method` while a method runs, `ray::Class` between calls, `ray::name:Class.__init__`
while a named actor is constructed, `ray::function` for a task, `ray::IDLE` for a worker in reserve
(python/ray/_private/worker.py, Ray 2.60).
"""

from __future__ import annotations

import re

from msgspec import Struct

_TITLE = re.compile(r"ray::(?:(?P<name>.+):)?(?P<cls>[^:.\s]+(?:\.<locals>\.[^:.\s]+)*)(?:\.(?P<method>[^.:\s]+))?(?:\s|$)")
IN_RESERVE = frozenset(
    "IDLE IDLE_SpillWorker IDLE_RestoreWorker SPILL_WORKER RESTORE_WORKER IDLE_SPILL_WORKER IDLE_RESTORE_WORKER".split()
)


class WorkerTitle(Struct, frozen=True):
    """`cls` without what stands before `<locals>`; a task has a function's name there. `method` only while one runs."""

    cls: str
    method: str | None = None
    name: str = ""

    @property
    def constructing(self) -> bool:
        return self.method == "__init__"


def parse_title(command: str) -> WorkerTitle | None:
    """The title of any worker, also of one in reserve; `None` for what is no title. What follows a blank is ignored."""
    match = _TITLE.match(command.strip())
    return None if match is None else WorkerTitle(short_class(match["cls"]), match["method"], match["name"] or "")


def assigned_title(command: str) -> WorkerTitle | None:
    """The title of a worker that belongs to an actor or task; `None` for one in reserve as well."""
    title = parse_title(command)
    return None if title is None or title.cls in IN_RESERVE else title


def short_class(name: str) -> str:
    """`create_colocated_worker_cls.<locals>.WorkerDict` → `WorkerDict`."""
    return name.rsplit(".", 1)[-1]
