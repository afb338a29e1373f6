"""The second way to read a cluster: its own Python asks the GCS, in a child that ends in time, and only while the dashboard is
not there or not understood."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from hangtop.diagnosis.facts.ray_health import stale_since, troubles
from hangtop.probe.ray.dashboard.poll import ACTORS, GROUPS, ApiView
from hangtop.probe.ray.dashboard.ray_python import RayPython
from hangtop.probe.ray.dashboard.state_tables import AFTER_FAILURE_S, CHILD_S, EVERY_S, PATIENCE_S, GcsTables
from hangtop.records.ray.cluster import RayApi, RayCluster, RayPart
from tests.fakes.ray_cluster import wait_for

NOW = 1_768_125_000.0
NODE = "a" * 56
TOLD = {
    "version": "9.9.9",
    "actors": {
        "b" * 32: {"actorId": "b" * 32, "className": "WorkerDict", "state": "ALIVE", "pid": 7, "address": {"nodeId": NODE}},
    },
    "nodes": [{"hostname": "n1", "raylet": {"nodeId": NODE, "state": "ALIVE"}}],
    "logical": {NODE: "1.0000/4.0000 CPU"},
    "groups": [],
    "runtimeEnvs": {},
}


@pytest.fixture
def python(tmp_path) -> Callable[..., RayPython]:
    """Stands for the cluster's Python: a program that says this, and writes down that it was started."""

    def make(*lines: str) -> RayPython:
        program = tmp_path / "python"
        program.write_text("\n".join(["#!/bin/sh", f"echo $$ >> {tmp_path / 'started'}", *lines, ""]))
        program.chmod(0o755)
        return RayPython(str(program), "127.0.0.1:6379")

    return make


@pytest.fixture
def tables() -> Iterator[GcsTables]:
    gcs_tables = GcsTables()
    yield gcs_tables
    gcs_tables.close()


def say(told: object) -> str:
    return f"echo 'hangtop {json.dumps(told)}'"


def started(python: RayPython) -> list[int]:
    file = Path(python.python).with_name("started")
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def of(answer: str, *strange: str) -> ApiView:
    return ApiView(RayApi("127.0.0.1:8265", answer, since=NOW - 60, gcs_ok=True, strange=strange))


def filled(tables: GcsTables, view: ApiView, python: RayPython) -> ApiView:
    """As soon as the child ended."""
    looks: list[ApiView] = []

    def told() -> bool:
        looks.append(tables.fill(view, python, NOW))
        return bool(looks[-1].api.tables_at or looks[-1].api.tables_problem)

    wait_for(told, 90)
    return looks[-1]


def test_without_a_dashboard_all_comes_from_the_tables_and_their_age_is_told(tables, python):
    view = filled(tables, of("none"), python(say(TOLD)))
    assert [actor.class_name for actor in view.actors.values()] == ["WorkerDict"]
    assert (list(view.nodes), view.logical[NODE], view.api.version) == ([NODE], "1.0000/4.0000 CPU", "9.9.9")
    cluster = RayCluster("session", api=view.api)
    assert stale_since(cluster, NOW + EVERY_S) is None
    assert stale_since(cluster, NOW + 60) == NOW
    silent = msgspec.structs.replace(cluster, parts=(RayPart("gcs_server", 7, NOW, state="T"),))
    assert stale_since(silent, NOW + 1) == NOW
    assert troubles(cluster, NOW) == ()


def test_only_what_the_dashboard_tells_in_another_shape_is_taken_from_them(tables, python):
    program = python(say(TOLD))
    assert filled(tables, of("strange", ACTORS), program).actors
    assert not tables.fill(of("strange", ACTORS), program, NOW).nodes
    assert not tables.fill(of("ok", GROUPS), program, NOW).actors


def test_it_is_asked_seldom_and_never_while_the_dashboard_is_understood(tables, python):
    program = python(say(TOLD))
    tables.fill(of("ok"), program, NOW)
    tables.fill(of("needs_token"), program, NOW)
    tables.fill(msgspec.structs.replace(of("silent"), api=RayApi("a:1", "silent", since=NOW - PATIENCE_S / 2)), program, NOW)
    assert started(program) == []
    filled(tables, of("refused"), program)
    tables.fill(of("refused"), program, NOW + EVERY_S - 1)
    assert len(started(program)) == 1
    tables.fill(of("refused"), program, NOW + EVERY_S)
    wait_for(lambda: len(started(program)) == 2, 90)


def test_one_that_does_not_end_is_ended_and_the_next_waits(tables, python):
    program = python("sleep 1000")
    tables.fill(of("none"), program, NOW)
    wait_for(lambda: started(program), 90)
    assert Path(f"/proc/{started(program)[0]}").exists()
    view = tables.fill(of("none"), program, NOW + CHILD_S + 1)
    assert view.api.tables_problem == f"the GCS did not answer within {CHILD_S:g} s"
    assert not Path(f"/proc/{started(program)[0]}").exists()
    tables.fill(of("none"), program, NOW + CHILD_S + AFTER_FAILURE_S)
    assert len(started(program)) == 1


def test_why_it_failed_is_told_in_one_line(tables, python):
    program = python("echo Traceback >&2", "echo 'ModuleNotFoundError: No module named ray' >&2", "exit 1")
    view = filled(tables, of("refused"), program)
    said = [trouble.text for trouble in troubles(RayCluster("session", api=view.api), NOW)]
    assert said[-1].endswith("Ray's own Python could not read the GCS in its place: ModuleNotFoundError: No module named ray")
    tables.close()
    gone = RayPython("/nonexistent/python", "127.0.0.1:6379")
    assert filled(tables, of("none"), gone).api.tables_problem == "/nonexistent/python: No such file or directory"
    tables.close()
    strange = filled(tables, of("none"), python(say({"version": "9.9.9"})))
    assert strange.api.tables_problem.startswith("its tables are in a shape that hangtop does not know")


def test_another_users_python_is_not_run_as_ourselves(tables, python, monkeypatch):
    program = msgspec.structs.replace(python(say(TOLD)), uid=1001)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "of another user" in filled(tables, of("none"), program).api.tables_problem
    assert started(program) == []
