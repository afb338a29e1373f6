"""Real clusters whose dashboard is not there, or has lost a path: their own Python tells all the same, and leaves no trace."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from hangtop.diagnosis.facts.ray_health import stale_since, troubles
from hangtop.diagnosis.facts.ray_pending import pending_resources
from hangtop.diagnosis.members.remote_stacks import remote_stacks_ask
from hangtop.probe.context import ProbeContext
from hangtop.probe.ray.dashboard import poll
from hangtop.probe.ray.ray_source import RaySource
from hangtop.probe.ray.workers_source import RayWorkerSource
from hangtop.probe.source import Source, open_source
from hangtop.records.ray.cluster import RayCluster, RayReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from hangtop.system.processes.open_table import open_table
from tests.fakes.processes import PATIENCE_S
from tests.fakes.ray_cluster import ZOO, OnlyHead, RealRay, missing, real_ray, wait_for

pytestmark = [
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("ray"),  # one cluster at a time: each wants both cores of a small machine
    pytest.mark.timeout(1800),
]

RANKS, STUCK = 4, 3
JOBS = """
import sys
from ray._private.state import state
from ray._raylet import GcsClientOptions
options = GcsClientOptions.create(sys.argv[1], None, allow_cluster_id_nil=True, fetch_cluster_id_if_nil=False)
state._initialize_global_state(options)
print(len(state.job_table()))
"""


@pytest.fixture(scope="module")
def bare() -> Iterator[RealRay]:
    """Two nodes, no dashboard."""
    with real_ray("--include-dashboard=false") as ray:
        ray.join(1)
        yield ray


def until(
    source: RaySource, ray: RealRay, holds: Callable[[RayCluster], object], timeout_s: float = 3 * PATIENCE_S
) -> RayCluster:
    found: list[RayCluster] = []

    def seen() -> bool:
        for value in source.read(time.time()):
            if isinstance(value, RayReading):
                found.extend(cluster for cluster in value.clusters if cluster.gcs_address == ray.gcs_address)
        return bool(found) and bool(holds(found[-1]))

    wait_for(seen, timeout_s)
    return found[-1]


def jobs(ray: RealRay) -> int:
    """As many as the GCS knows, those that ended too."""
    command = [sys.executable, "-c", JOBS, ray.gcs_address]
    done = subprocess.run(command, env=ray.environ, capture_output=True, text=True, timeout=240, check=True)
    return int(done.stdout)


def test_a_cluster_without_dashboard_tells_every_state_and_gets_no_job(bare):
    zoo = bare.run("zoo.py", str(bare.folder / "flag"), until="ZOO READY")
    before = jobs(bare)
    with closing(RaySource(ProbeContext(WatchSpec()))) as source:
        found = until(source, bare, lambda c: {a.name: a.state for a in c.actors if a.id} == ZOO and c.drivers)
    assert found.api.answer == "none"
    assert troubles(found, time.time()) == ()
    assert [driver.pid for driver in found.drivers] == [zoo.pid]
    dead = {actor.name: actor.death for actor in found.actors if actor.death}
    assert dead["bad_init"].traceback[-1] == "RuntimeError: model path not found"
    assert {wish.who for wish in pending_resources(found)} == {"AsksTooMuch", "placement group infeasible_group"}
    assert sorted(node.head for node in found.nodes) == [False, True]
    assert jobs(bare) == before
    zoo.kill()
    zoo.wait(PATIENCE_S)


def test_ranks_on_another_node_tell_their_steps_by_its_agent_and_their_stacks_by_a_task(bare, ends):
    log = bare.folder / "spread.log"
    driver = bare.run("spread.py", str(RANKS), str(STUCK), str(log), until="SPREAD HANGS")
    context = ProbeContext(WatchSpec(logs=(str(log),)))
    sources: dict[str, Source] = {
        "ray": RaySource(context, OnlyHead(open_table())),
        "rayworkers": RayWorkerSource(context),
        "log": open_source("log", context),
    }
    for name in ("ray", "log"):
        ends.callback(sources[name].close)
    procs = open_source("procs", context)
    state = RunState()

    def told() -> bool:
        nonlocal state
        for name, source in {"procs": procs, **sources}.items():
            for value in source.read(time.time()):
                state = fold(state, Reading(name, "here", time.time(), value))
        return {number: rank.step for number, rank in state.ranks.items()} == {0: 9, 1: 9, 2: 9, STUCK: 2}

    wait_for(told, 3 * PATIENCE_S)
    ask = remote_stacks_ask(state, 1, task=True)
    assert sorted(worker.rank for worker in ask.workers) == [1, 3], "those of the other node"
    for part in sources["rayworkers"].answer(ask, time.time()):
        state = fold(state, Reading("rayworkers", "here", time.time(), part))
    assert [stack.problem for stack in state.far_stacks.stacks] == [None, None]
    driver.kill()
    driver.wait(PATIENCE_S)


def test_where_the_dashboard_has_lost_a_path_the_tables_tell_what_was_there(monkeypatch):
    monkeypatch.setattr(poll, "ACTORS", "/logical/of/the/future")
    monkeypatch.setattr(poll, "ESSENTIAL", ("/logical/of/the/future",))
    monkeypatch.setattr("hangtop.probe.ray.dashboard.state_tables.ACTORS", "/logical/of/the/future")
    with real_ray() as ray:
        ray.run("fleet.py", "3", "1", until="FLEET HANGS")
        with closing(RaySource(ProbeContext(WatchSpec()))) as source:
            found = until(source, ray, lambda c: {actor.rank for actor in c.actors if actor.id} == {0, 1, 2})
    assert found.api.answer == "strange"
    assert stale_since(found, time.time()) is None
    (trouble,) = troubles(found, time.time())
    assert trouble.text == f"Ray {found.api.version} answers in a shape that hangtop does not know"
    assert trouble.mend.startswith("Ray's own Python reads actors")
