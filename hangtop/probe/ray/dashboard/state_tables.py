"""The second way to read a cluster, where its dashboard is not there or not understood: a short-lived child in the cluster's own
Python asks the GCS itself, now and then. What only agents know (titles, CPU and memory of workers on other nodes) is not to be
had so."""

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
"""It takes 0.9 s of a core each time, nearly all to import Ray."""
AFTER_FAILURE_S = 60.0
PATIENCE_S = 6.0
"""A dashboard that is silent or fails may only be slow."""
CHILD_S = 20.0
MARK = b"hangtop "
IN_TABLES = {ACTORS, NODES, PAGE, GROUPS}


class StateTables(Struct, frozen=True, rename="camel"):
    """What the child prints, in the dashboard's own shapes."""

    version: str
    actors: dict[str, api_schema.Actor]
    nodes: tuple[api_schema.Node, ...]
    logical: dict[str, str]
    groups: tuple[api_schema.Group, ...]
    runtime_envs: dict[str, str]


class GcsTables:
    """One cluster's tables, read again and again while they are needed. Nothing here waits for the child."""

    def __init__(self) -> None:
        self._tables: StateTables | None = None
        self._read_at: float | None = None
        self._problem = ""
        self._due_at = 0.0
        self._started_at = 0.0
        self._child: subprocess.Popen[bytes] | None = None
        self._files: tuple[IO[bytes], ...] = ()

    def fill(self, view: ApiView, way: RayPython | None, now: float) -> ApiView:
        """The view, with what its dashboard does not tell from the tables, as of unix time `now`."""
        if not _needed(view, now):
            self.close()
            return view
        self._run_child(way, now)
        api = replace(view.api, tables_at=self._read_at, tables_problem=self._problem)
        view = replace(view, api=api)
        return view if self._tables is None or self._read_at is None else _filled(view, self._tables, self._read_at)

    def close(self) -> None:
        """End the child, and forget what it told: it is needed no more."""
        if self._child is not None:
            end(self._child)
        self._drop()
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
        """Its words go to files: nobody waits here to read a pipe."""
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
        self._drop()

    def _fail(self, why: str, now: float) -> None:
        self._problem, self._due_at = why, now + AFTER_FAILURE_S
        self._drop()

    def _drop(self) -> None:
        self._child = None
        for file in self._files:
            file.close()
        self._files = ()


def _needed(view: ApiView, now: float) -> bool:
    """Not where a token is missing: it is missing for the child too."""
    api = view.api
    if api.answer in ("silent", "error"):
        return now - (api.since or now) >= PATIENCE_S
    return api.answer in ("none", "refused", "strange") or bool(IN_TABLES & set(api.strange))


def _filled(view: ApiView, tables: StateTables, at: float) -> ApiView:
    """Everything of the tables where the dashboard does not answer, else only what it tells in another shape."""
    unread = set(view.api.strange) if view.api.answer in ("ok", "strange") else IN_TABLES
    if ACTORS in unread:
        view = replace(view, actors=tuple(tables.actors.values()), runtime_envs=tables.runtime_envs)
    if unread & {NODES, PAGE}:
        nodes = {node.raylet.node_id: NodeView(node, at, node) for node in tables.nodes}
        view = replace(view, nodes=nodes, logical=tables.logical)
    if GROUPS in unread:
        view = replace(view, groups=tables.groups)
    return replace(view, api=replace(view.api, version=view.api.version or tables.version))
