"""The second way to read a cluster, when its dashboard is missing or not understood: now and then a short-lived child in the
cluster's own Python asks the GCS. What only agents know (titles, CPU and memory of workers on other nodes) is missing."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.poll import ACTORS, GROUPS, NODES, PAGE, ApiView, NodeView
from hangtop.probe.ray.dashboard.ray_python import ChildError, RayChild, RayPython

PROGRAM = "hangtop_tables.py"
EVERY_S = 20.0
"""Each time takes 0.9 s of a core, nearly all to import Ray."""
AFTER_FAILURE_S = 60.0
PATIENCE_S = 6.0
"""How long a silent or failing dashboard may just be slow."""
CHILD_S = 20.0
IN_TABLES = {ACTORS, NODES, PAGE, GROUPS}


class StateTables(Struct, frozen=True, rename="camel"):
    """What the child prints, in the dashboard's shapes."""

    version: str
    actors: dict[str, api_schema.Actor]
    nodes: tuple[api_schema.Node, ...]
    logical: dict[str, str]
    groups: tuple[api_schema.PlacementGroupRow, ...]
    runtime_envs: dict[str, str]


class GcsTables:
    """The tables of one cluster, read again while they are needed. Never waits for the child."""

    def __init__(self) -> None:
        self._tables: StateTables | None = None
        self._read_at = 0.0
        self._problem = ""
        self._due_at = 0.0
        self._started_at = 0.0
        self._child: RayChild | None = None

    def fill(self, view: ApiView, python: RayPython | None, now: float) -> ApiView:
        """The view, with what its dashboard does not tell from the tables, as of unix time `now`."""
        if not _needed(view, now):
            self.close()
            return view
        if self._child is not None:
            self._follow(self._child, now)
        elif python is not None and now >= self._due_at:
            self._started_at = now
            try:
                self._child = python.start(PROGRAM, str(int(CHILD_S)))
            except ChildError as error:
                self._fail(str(error), now)
        told_at = self._read_at if self._tables else None
        view = replace(view, api=replace(view.api, tables_at=told_at, tables_problem=self._problem))
        return _filled(view, self._tables, self._read_at) if self._tables else view

    def close(self) -> None:
        """End the child, and forget what it told: it is needed no more."""
        self._end()
        self._tables, self._problem, self._due_at = None, "", 0.0

    def _follow(self, child: RayChild, now: float) -> None:
        if not child.has_ended():
            if now - self._started_at > CHILD_S:
                self._fail(f"the GCS did not answer within {CHILD_S:g} s", now)
            return
        told = next(child.answers(), None)
        if told is None:
            self._fail(child.last_words(), now)
            return
        try:
            self._tables = msgspec.json.decode(told, type=StateTables, strict=False)
        except msgspec.DecodeError as error:
            self._fail(f"its tables are in a shape that hangtop does not know: {error}", now)
            return
        self._read_at, self._problem, self._due_at = self._started_at, "", now + EVERY_S
        self._end()

    def _fail(self, why: str, now: float) -> None:
        self._problem, self._due_at = why, now + AFTER_FAILURE_S
        self._end()

    def _end(self) -> None:
        if self._child is not None:
            self._child.end()
        self._child = None


def _needed(view: ApiView, now: float) -> bool:
    """Not when a token is missing: the child would miss it too."""
    api = view.api
    if api.answer in ("silent", "error"):
        return now - (api.since or now) >= PATIENCE_S
    return api.answer in ("none", "refused", "strange") or bool(IN_TABLES & set(api.strange))


def _filled(view: ApiView, tables: StateTables, at: float) -> ApiView:
    """All of the tables if the dashboard does not answer, else only the parts with an unknown shape."""
    unread = set(view.api.strange) if view.api.answer in ("ok", "strange") else IN_TABLES
    if ACTORS in unread:
        view = replace(view, actors=tables.actors, runtime_envs=tables.runtime_envs)
    if unread & {NODES, PAGE}:
        nodes = {node.raylet.node_id: NodeView(node, at, node) for node in tables.nodes}
        view = replace(view, nodes=nodes, logical=tables.logical)
    if GROUPS in unread:
        view = replace(view, groups=tables.groups)
    return replace(view, api=replace(view.api, version=view.api.version or tables.version))
