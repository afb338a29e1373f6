"""The second way to read a cluster, when its dashboard is missing or not understood: now and then a short-lived child in the
cluster's own Python asks the GCS. What only agents know (titles, CPU and memory of workers on other nodes) is missing."""

from __future__ import annotations

import subprocess
import tempfile
from typing import IO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.poll import ACTORS, GROUPS, NODES, PAGE, ApiView, NodeView
from hangtop.probe.ray.dashboard.ray_python import RayPython, end, last_words

PROGRAM = "hangtop_tables.py"
EVERY_S = 20.0
"""Each time takes 0.9 s of a core, nearly all to import Ray."""
AFTER_FAILURE_S = 60.0
PATIENCE_S = 6.0
"""How long a silent or failing dashboard may just be slow."""
CHILD_S = 20.0
MARK = b"hangtop "
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
        self._read_at: float | None = None
        self._problem = ""
        self._due_at = 0.0
        self._started_at = 0.0
        self._child: subprocess.Popen[bytes] | None = None
        self._files: tuple[IO[bytes], ...] = ()

    def fill(self, view: ApiView, way: RayPython | None, now: float) -> ApiView:
        """The view, completed from the tables, as of unix time `now`."""
        if not _needed(view, now):
            self.close()
            return view
        self._run_child(way, now)
        api = replace(view.api, tables_at=self._read_at, tables_problem=self._problem)
        view = replace(view, api=api)
        return view if self._tables is None or self._read_at is None else _filled(view, self._tables, self._read_at)

    def close(self) -> None:
        """End the child and forget its tables."""
        if self._child is not None:
            end(self._child)
        self._close_files()
        self._tables = self._read_at = None
        self._problem, self._due_at = "", 0.0

    def _run_child(self, way: RayPython | None, now: float) -> None:
        if self._child is None and way is not None and now >= self._due_at:
            self._start(way, now)
        elif self._child is not None and self._child.poll() is not None:
            self._take(now)
        elif self._child is not None and now - self._started_at > CHILD_S:
            end(self._child)
            self._fail(f"the GCS did not answer within {CHILD_S:g} s", now)

    def _start(self, way: RayPython, now: float) -> None:
        """Its output goes to files, because a pipe would have to be read."""
        said, complaints = self._files = (tempfile.TemporaryFile(), tempfile.TemporaryFile())  # noqa: SIM115 - until it ends
        try:
            self._child = way.start(PROGRAM, str(int(CHILD_S)), stdout=said, stderr=complaints)
        except OSError as error:
            self._fail(f"{way.python}: {error.strerror or error}", now)
        self._started_at = now

    def _take(self, now: float) -> None:
        said, complaints = self._files
        said.seek(0)
        line = next((line for line in said if line.startswith(MARK)), None)
        if line is None:
            self._fail(last_words(complaints), now)
            return
        try:
            self._tables = msgspec.json.decode(line[len(MARK) :], type=StateTables, strict=False)
        except msgspec.DecodeError as error:
            self._fail(f"its tables are in a shape that hangtop does not know: {error}", now)
            return
        self._read_at, self._problem, self._due_at = self._started_at, "", now + EVERY_S
        self._close_files()

    def _fail(self, why: str, now: float) -> None:
        self._problem, self._due_at = why, now + AFTER_FAILURE_S
        self._close_files()

    def _close_files(self) -> None:
        self._child = None
        for file in self._files:
            file.close()
        self._files = ()


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
        view = replace(view, actors=tuple(tables.actors.values()), runtime_envs=tables.runtime_envs)
    if unread & {NODES, PAGE}:
        nodes = {node.raylet.node_id: NodeView(node, at, node) for node in tables.nodes}
        view = replace(view, nodes=nodes, logical=tables.logical)
    if GROUPS in unread:
        view = replace(view, groups=tables.groups)
    return replace(view, api=replace(view.api, version=view.api.version or tables.version))
