"""The Ray source on a real cluster: every state of an actor, the rank that stays behind, a silent GCS, a dead raylet.

Slow (a cluster takes seconds to start), so one head serves all tests but those that break it. Runs where Ray is installed.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from hangtop.diagnosis.ray import odd_actors, stale_since, troubles, wishes
from hangtop.model import RunState, fold
from hangtop.records.ray import RayActor, RayCluster, RayDaemons, RayNode, RayReading
from hangtop.records.reading import Reading
from hangtop.sources import open_source
from hangtop.sources.ray import RaySource
from hangtop.spec import WatchSpec
from tests.fakes.ray_cluster import RealRay, missing, real_ray

pytestmark = [pytest.mark.skipif(missing() is not None, reason=str(missing())), pytest.mark.timeout(300)]

RANKS, STUCK = 6, 3
IN_TIME_S = 4.0
"""A look may take two deadlines of the dashboard, and some of a busy machine."""


class Watch:
    """Looks at all clusters of this machine every 2 s, as the probe does, and keeps the last word on one of them."""

    def __init__(self, ray: RealRay, spec: str = "auto") -> None:
        self._ray = ray
        self._source = RaySource(WatchSpec(ray=spec))
        self.cluster: RayCluster | None = None
        self.sessions: set[str] = set()
        self.daemons = RayDaemons()
        self.longest_s = 0.0

    def look(self) -> RayCluster:
        began = time.monotonic()
        for value in self._source.read(time.time()):
            if isinstance(value, RayDaemons):
                self.daemons = value
            if isinstance(value, RayReading):
                self.sessions = {cluster.session for cluster in value.clusters if cluster.ended_at is None}
                self.cluster = next((c for c in value.clusters if c.gcs_address == self._ray.gcs_address), self.cluster)
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        assert self.cluster is not None
        return self.cluster

    def until(self, holds: Callable[[RayCluster], object], timeout_s: float = 40.0) -> RayCluster:
        end = time.monotonic() + timeout_s
        while not holds(cluster := self.look()):
            assert time.monotonic() < end, f"not seen within {timeout_s:g} s: {cluster}"
            time.sleep(1.0)
        return cluster

    def close(self) -> None:
        self._source.close()


@pytest.fixture(scope="module")
def head() -> Iterator[RealRay]:
    with real_ray() as ray:
        yield ray


@pytest.fixture
def watch(head) -> Iterator[Watch]:
    one = Watch(head)
    yield one
    one.close()


def by_name(cluster: RayCluster) -> dict[str, RayActor]:
    """Actors but those of drivers that earlier tests ended."""
    return {actor.name: actor for actor in cluster.actors if actor.death is None or not actor.death.intended}


def root(cluster: RayCluster) -> str:
    """What is sick, in its first line."""
    return next((trouble.text for trouble in troubles(cluster, time.time())), "")


def head_node(cluster: RayCluster) -> RayNode:
    return next(node for node in cluster.nodes if node.head)


@pytest.fixture
def play(head) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Runs a program on the shared cluster until the test ends; Ray then ends its actors."""
    running: list[subprocess.Popen[bytes]] = []

    def run(*words: str, until: str) -> subprocess.Popen[bytes]:
        running.append(head.run(*words, until=until))
        return running[-1]

    yield run
    for program in running:
        head.signal(program.pid, signal.SIGKILL)
        program.wait(10)


def test_every_state_of_an_actor_is_told_apart(head, watch, play):
    zoo = play("zoo.py", str(head.folder / "flag"), until="ZOO READY")
    wanted = {
        "idle": "idle",
        "locked": "running",
        "asks_too_much": "resources",
        "needs_argument": "argument",
        "slow_init": "constructing",
        "restarting": "restarting",
        "crashed": "dead",
        "bad_init": "dead",
    }
    found = watch.until(lambda c: {name: actor.state for name, actor in by_name(c).items()} == wanted and c.groups and c.drivers)
    actors = by_name(found)
    assert actors["locked"].method == "update_actor"
    assert actors["locked"].pid == actors["locked"].ray_pid
    assert actors["slow_init"].pid is not None, "one that is being constructed has a process"
    assert actors["restarting"].restarts == 1
    assert actors["crashed"].death.cause == "its process ended: SYSTEM_ERROR"
    assert actors["bad_init"].death.traceback[-1] == "RuntimeError: model path not found"
    assert actors["locked"].log.endswith(".out")
    said = {wish.who: wish.lack for wish in wishes(found)}
    assert said == {"AsksTooMuch": "no node has NoSuchThing", "placement group infeasible_group": "no node has NoSuchThing"}
    assert stale_since(found, time.time()) is None
    assert [driver.pid for driver in found.drivers] == [zoo.pid]


def test_a_worker_that_is_stopped_is_told_at_once_by_its_process(head, watch, play):
    play("fleet.py", "3", "1", until="FLEET HANGS")
    name = "abc123WorkerDict_0:2"
    victim = by_name(watch.until(lambda c: name in by_name(c) and by_name(c)[name].pid))[name]
    head.signal(victim.pid, signal.SIGSTOP)
    found = watch.until(lambda c: by_name(c)[name].state == "stopped", 10)
    assert [odd.why for odd in odd_actors(found) if odd.actor.rank == 2] == ["its process is stopped"]
    head.signal(victim.pid, signal.SIGCONT)


def test_the_rank_that_stays_behind_is_named_within_five_seconds(head, watch, play):
    play("fleet.py", str(RANKS), str(STUCK), until="FLEET HANGS")
    began = time.monotonic()
    others = f"while {RANKS - 1} others are between calls"
    found = watch.until(lambda c: any(others in odd.why for odd in odd_actors(c)), 10)
    assert time.monotonic() - began < 5.0, "the time is the promise here"
    (odd,) = (odd for odd in odd_actors(found) if not odd.sure)
    assert (odd.actor.rank, odd.actor.world, odd.actor.method) == (STUCK, RANKS, "actor_rollout_update_actor")


def test_what_a_restart_needs_is_kept_without_secrets(head, watch):
    watch.look()
    daemons = {d.kind: d for d in watch.daemons.daemons if d.session == watch.cluster.session}
    assert {"raylet", "gcs_server", "dashboard", "log_monitor"} <= set(daemons)
    raylet = daemons["raylet"]
    assert any(word.startswith("--static_resource_list=") and "CPU,1" in word for word in raylet.argv)
    assert raylet.env["RAY_DEDUP_LOGS"] == "0"
    assert "HOME" not in raylet.env
    assert not any("TOKEN" in name for name in raylet.env)


def test_the_worker_files_of_the_session_name_pid_and_rank(head, watch, play):
    from hangtop.sources.raycluster.files import worker_files

    play("fleet.py", "3", "1", until="FLEET HANGS")
    found = watch.until(lambda c: {file.rank for file in worker_files(c)} >= {0, 1, 2})
    files = {file.rank: file for file in worker_files(found) if file.rank is not None and file.stream == "out"}
    assert sorted(files) == [0, 1, 2]
    with open(files[1].path) as file:
        assert "rank 1 generates" in file.read()


def test_check_names_the_rank_that_stays_behind(head, play):
    log = head.folder / "train.log"
    play("fleet.py", str(RANKS), str(STUCK), str(log), until="FLEET HANGS")
    command = [sys.executable, "-m", "hangtop", "check", "--log", str(log), "--stall", "5", "--wait", "30", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    said = json.loads(done.stdout)
    assert (done.returncode, said["verdict"]) == (1, "hung"), said["headline"]
    assert [culprit["rank"] for culprit in said["culprits"]] == [STUCK]
    assert {rank["actor"] for rank in said["ranks"]} == {"WorkerDict"}
    assert said["sources"]["ray"]["ok"]


def test_each_rank_has_the_step_that_its_own_file_tells(head, play):
    log = head.folder / "bars.log"
    play("bars.py", "3", "1", str(log), until="BARS DRAWN")
    spec = WatchSpec(logs=(str(log),))
    sources = [open_source(name, spec) for name in ("procs", "ray", "log")]
    state, end = RunState(), time.monotonic() + 60.0
    while (steps := {number: rank.step for number, rank in state.ranks.items()}) != {0: 9, 1: 2, 2: 9}:
        assert time.monotonic() < end, steps
        for source in sources:
            for value in source.read(time.time()):
                state = fold(state, Reading(source.name, "here", time.time(), value))
        time.sleep(0.2)
    assert [file.path for file in state.log.files] == [str(log)]
    for source in sources[1:]:
        source.close()


def test_two_clusters_on_one_machine_are_told_apart(head, watch):
    with real_ray() as other:
        second = Watch(other)
        found = second.until(lambda c: c.api.answer == "ok" and c.nodes)
        first = watch.look()
        assert first.session != found.session
        assert {first.session, found.session} <= second.sessions
        assert {part.pid for part in first.parts}.isdisjoint(part.pid for part in found.parts)
        assert found.api.address == f"127.0.0.1:{other.dashboard_port}"
        second.close()


def test_a_token_is_asked_for_and_found_where_the_raylet_has_it():
    secret = "a" * 64
    with real_ray(token=secret) as guarded:
        watch = Watch(guarded)
        found = watch.until(lambda c: c.api.answer == "ok" and c.nodes)
        assert found.api.gcs_ok
        assert secret not in repr(watch.cluster) + repr(watch.daemons)
        watch.close()


def test_a_silent_gcs_and_a_dead_raylet_are_told_in_time():
    with real_ray() as ray:
        watch = Watch(ray)
        ray.run("fleet.py", "3", "1", until="FLEET HANGS")
        watch.until(lambda c: len(c.actors) == 3 and stale_since(c, time.time()) is None)

        gcs = ray.pid_of("gcs_server")
        ray.signal(gcs, signal.SIGSTOP)
        found = watch.until(lambda c: root(c) == f"the GCS (pid {gcs}) is stopped" and stale_since(c, time.time()), 10)
        assert [odd.actor.rank for odd in odd_actors(found)] == [1], "processes still tell who is behind"
        ray.signal(gcs, signal.SIGCONT)
        watch.until(lambda c: stale_since(c, time.time()) is None)

        agent = ray.pid_of("ray::DashboardAgent")
        ray.signal(agent, signal.SIGSTOP)
        found = watch.until(lambda c: root(c) == f"the agent (pid {agent}) is stopped" and stale_since(c, time.time()), 40)
        ray.signal(agent, signal.SIGCONT)

        dashboard = next(part.pid for part in found.parts if part.kind == "dashboard")
        ray.signal(dashboard, signal.SIGSTOP)
        found = watch.until(lambda c: c.api.answer == "silent" and root(c) == f"the dashboard (pid {dashboard}) is stopped", 15)
        assert len([actor for actor in found.actors if actor.pid]) == 3, "old rows stay, joined with living processes"
        ray.signal(dashboard, signal.SIGCONT)
        watch.until(lambda c: c.api.answer == "ok")

        ray.join()
        found = watch.until(lambda c: len(c.nodes) == 2 and all(node.local and node.moved_at for node in c.nodes))
        second = next(part for part in found.parts if part.kind == "raylet" and part.node != head_node(found).id)
        ray.signal(second.pid, signal.SIGSTOP)
        found = watch.until(lambda c: root(c) == f"the raylet (pid {second.pid}) is stopped", 10)
        assert stale_since(found, time.time()) is None, "the other node still reports"
        ray.signal(second.pid, signal.SIGKILL)

        raylet = next(part.pid for part in found.parts if part.kind == "raylet" and part.node == head_node(found).id)
        ray.signal(raylet, signal.SIGKILL)
        found = watch.until(lambda c: any(f"(pid {raylet})" in trouble.text for trouble in troubles(c, time.time())), 15)
        assert watch.longest_s < IN_TIME_S
        watch.close()
