"""What a Ray worker's process title and an actor's name say. Pure.

Ray sets the title with setproctitle: `ray::Class.method` while a method runs, `ray::Class` between calls,
`ray::name:Class.__init__` while a named actor is being constructed, `ray::function` for a task, `ray::IDLE` for a worker in
reserve (python/ray/_private/worker.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

_TITLE = re.compile(r"ray::(?:(?P<name>.+):)?(?P<cls>[^:.]+(?:\.<locals>\.[^:.]+)*)(?:\.(?P<method>[^.:]+))?")
_VERL_NAME = re.compile(r"(?P<prefix>[A-Za-z0-9]{6})?(?P<cls>.*?)_(?P<group>\d+):(?P<local>\d+)")
SYSTEM = frozenset(
    "IDLE IDLE_SpillWorker IDLE_RestoreWorker SPILL_WORKER RESTORE_WORKER IDLE_SPILL_WORKER IDLE_RESTORE_WORKER".split()
)


class WorkerTitle(Struct, frozen=True):
    """`cls` without the part before `<locals>`; of a task the function. `method`: only while one runs."""

    cls: str
    method: str | None = None
    name: str = ""

    @property
    def constructing(self) -> bool:
        return self.method == "__init__"


def parse_title(text: str) -> WorkerTitle | None:
    """The title of a worker with an actor or task; `None` for an idle worker in reserve, and for what is no title."""
    match = _TITLE.fullmatch(text.strip())
    if match is None or match["cls"] in SYSTEM:
        return None
    return WorkerTitle(short_class(match["cls"]), match["method"], match["name"] or "")


def short_class(name: str) -> str:
    """`create_colocated_worker_cls.<locals>.WorkerDict` → `WorkerDict`."""
    return name.rsplit(".", 1)[-1]


def verl_ranks(names: Iterable[str]) -> dict[str, int]:
    """Actor name → global rank, for names as verl gives them: `<6 letters><class>_<node group>:<local rank>`.

    Ranks count through the groups in order (verl/single_controller/ray/base.py), so after a gap all later groups are left out.
    """
    pools: dict[tuple[str, str], dict[int, dict[int, str]]] = {}
    for name in names:
        if match := _VERL_NAME.fullmatch(name):
            pool = pools.setdefault((match["prefix"] or "", match["cls"]), {})
            pool.setdefault(int(match["group"]), {})[int(match["local"])] = name
    ranks: dict[str, int] = {}
    for pool in pools.values():
        first = 0
        for group in range(len(pool)):
            members = pool.get(group, {})
            if set(members) != set(range(len(members))) or not members:
                break
            ranks.update((name, first + local) for local, name in members.items())
            first += len(members)
    return ranks
