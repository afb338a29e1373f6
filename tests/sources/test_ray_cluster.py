"""The Ray sources on real clusters: every state of an actor, the rank that stays behind, workers on other nodes, each part of Ray
stopped and killed.

A cluster takes seconds to start, so two serve all tests: a single head, and four nodes with a token, which the last tests take
apart. They are also the two clusters of one machine that must be told apart. Runs where Ray is installed.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from hangtop.diagnosis.facts.ray_health import outlier_actors, stale_since, troubles
from hangtop.diagnosis.facts.ray_pending import pending_resources
from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.diagnosis.members.remote_stacks import remote_stacks_ask, with_remote_stacks
from hangtop.probe.context import ProbeContext
from hangtop.probe.ray.local.worker_files import worker_files
from hangtop.probe.ray.ray_source import RaySource
from hangtop.probe.ray.workers_source import RayWorkerSource
from hangtop.probe.source import Source, open_source
from hangtop.records.ask import ActorLogAsk
from hangtop.records.ray.cluster import RayActor, RayCluster, RayNode, RayReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.stacks.stack_classes import classes
from hangtop.state.run_state import RunState, fold
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import ProcessTable
from tests.fakes.processes import PATIENCE_S
from tests.fakes.ray_cluster import ZOO, OnlyHead, RealRay, missing, real_ray

pytestmark = [
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("ray"),  # one cluster at a time: each wants both cores of a small machine
    pytest.mark.timeout(1800),
]

RANKS, STUCK = 16, 3
NODES = 4
TOKEN = "a" * 64
IN_TIME_S = 30.0
"""A look may take two deadlines of the dashboard, and long on a slow machine; to wait for what is stopped would take for ever."""


class Watch:
    """Looks at all clusters of this machine every 2 s, as the probe does, and keeps the last word on one of them."""

    def __init__(self, ray: RealRay, table: ProcessTable | None = None) -> None:
        self._ray = ray
        self._source = RaySource(ProbeContext(WatchSpec()), table)
        self.cluster: RayCluster | None = None
        self.sessions: set[str] = set()
        self.longest_s = 0.0

    def look(self) -> RayCluster:
        began = time.monotonic()
        for value in self._source.read(time.time()):
            if isinstance(value, RayReading):
                self.sessions = {cluster.session for cluster in value.clusters if cluster.ended_at is None}
                self.cluster = next((c for c in value.clusters if c.gcs_address == self._ray.gcs_address), self.cluster)
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        assert self.cluster is not None
        return self.cluster

    def until(self, holds: Callable[[RayCluster], object]) -> RayCluster:
        end = time.monotonic() + 3 * PATIENCE_S
        while not holds(cluster := self.look()):
            assert time.monotonic() < end, f"not seen within {3 * PATIENCE_S:g} s: {cluster}"
            time.sleep(1.0)
        return cluster

    def close(self) -> None:
        self._source.close()


@pytest.fixture(scope="module")
def head() -> Iterator[RealRay]:
    with real_ray() as ray:
        yield ray


@pytest.fixture(scope="module")
def nodes() -> Iterator[RealRay]:
    with real_ray(token=TOKEN, variables={"RAY_DASHBOARD_ENABLE_PROFILING": "1"}) as ray:
        ray.join(NODES - 1)
        yield ray


@pytest.fixture
def watch(head, ends) -> Watch:
    watcher = Watch(head)
    ends.callback(watcher.close)
    return watcher


@pytest.fixture
def watch_nodes(nodes, ends) -> Watch:
    watcher = Watch(nodes)
    ends.callback(watcher.close)
    return watcher


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
        program.wait(PATIENCE_S)


def test_every_state_of_an_actor_is_told_apart(head, watch, play):
    zoo = play("zoo.py", str(head.folder / "flag"), until="ZOO READY")
    found = watch.until(lambda c: {name: actor.state for name, actor in by_name(c).items()} == ZOO and c.groups and c.drivers)
    actors = by_name(found)
    assert actors["locked"].method == "update_actor"
    assert actors["locked"].pid == actors["locked"].ray_pid
    assert actors["slow_init"].pid is not None, "one that is being constructed has a process"
    assert actors["restarting"].restarts == 1
    assert actors["crashed"].death.cause == "its process ended: SYSTEM_ERROR"
    assert actors["bad_init"].death.traceback[-1] == "RuntimeError: model path not found"
    assert actors["locked"].log.endswith(".out")
    said = {wish.who: wish.lack for wish in pending_resources(found)}
    assert said == {"AsksTooMuch": "no node has NoSuchThing", "placement group infeasible_group": "no node has NoSuchThing"}
    assert stale_since(found, time.time()) is None
    assert [driver.pid for driver in found.drivers] == [zoo.pid]


def test_a_worker_tells_its_files_and_that_it_is_stopped_at_once_by_its_process(head, watch, play):
    play("fleet.py", "3", "1", until="FLEET HANGS")
    found = watch.until(lambda c: {file.rank for file in worker_files(c)} >= {0, 1, 2})
    files = {file.rank: file for file in worker_files(found) if file.path.endswith(".out")}
    assert sorted(files) == [0, 1, 2]
    with open(files[1].path) as file:
        assert "rank 1 generates" in file.read()
    victim = by_name(found)["abc123WorkerDict_0:2"]
    head.signal(victim.pid, signal.SIGSTOP)
    found = watch.until(lambda c: by_name(c)[victim.name].state == "stopped")
    assert [odd.why for odd in outlier_actors(found) if odd.actor.rank == 2] == ["its process is stopped"]
    head.signal(victim.pid, signal.SIGCONT)


def test_of_sixteen_ranks_the_one_that_stays_behind_is_named_and_by_check(head, watch, play):
    log = head.folder / "train.log"
    play("fleet.py", str(RANKS), str(STUCK), str(log), until="FLEET HANGS")
    others = f"while {RANKS - 1} others are between calls"
    found = watch.until(lambda c: any(others in odd.why for odd in outlier_actors(c)))
    (odd,) = (odd for odd in outlier_actors(found) if not odd.sure)
    assert (odd.actor.rank, odd.actor.world, odd.actor.method) == (STUCK, RANKS, "actor_rollout_update_actor")
    command = [sys.executable, "-m", "hangtop", "check", "--log", str(log), "--stall", "5", "--wait", "30", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    said = json.loads(done.stdout)
    assert (done.returncode, said["verdict"]) == (1, "hung"), said["headline"]
    assert [culprit["rank"] for culprit in said["culprits"]] == [STUCK]
    assert {rank["actor"] for rank in said["ranks"]} == {"WorkerDict"}
    assert said["sources"]["ray"]["ok"]


def test_each_rank_has_the_step_that_its_own_file_tells(head, play, ends):
    log = head.folder / "bars.log"
    play("bars.py", "3", "1", str(log), until="BARS DRAWN")
    context = ProbeContext(WatchSpec(logs=(str(log),)))
    sources = {name: open_source(name, context) for name in ("procs", "ray", "log")}
    for name in ("ray", "log"):
        ends.callback(sources[name].close)
    state, end = RunState(), time.monotonic() + 3 * PATIENCE_S
    while (steps := {number: rank.step for number, rank in state.ranks.items()}) != {0: 9, 1: 2, 2: 9}:
        assert time.monotonic() < end, steps
        for name, source in sources.items():
            for value in source.read(time.time()):
                state = fold(state, Reading(name, "here", time.time(), value))
        time.sleep(0.2)
    assert [file.path for file in state.log.files] == [str(log)]


def test_two_clusters_on_one_machine_are_told_apart_and_the_token_of_one_goes_to_no_record(head, watch, nodes, watch_nodes):
    second = watch_nodes
    found = second.until(lambda c: c.api.answer == "ok" and len(c.nodes) == NODES)
    first = watch.look()
    assert first.session != found.session
    assert {first.session, found.session} <= second.sessions
    assert {part.pid for part in first.parts}.isdisjoint(part.pid for part in found.parts)
    assert found.api.address == f"127.0.0.1:{nodes.dashboard_port}"
    assert found.api.gcs_ok, "the token was found where the raylet has it"
    assert TOKEN not in repr(second.cluster)


def test_workers_of_other_nodes_tell_their_steps_their_output_and_their_stacks(nodes, ends):
    log = nodes.folder / "spread.log"
    driver = nodes.run("spread.py", "8", str(STUCK), str(log), until="SPREAD HANGS")
    context = ProbeContext(WatchSpec(logs=(str(log),), ray=f"127.0.0.1:{nodes.dashboard_port}"))
    sources = {
        "ray": RaySource(context, OnlyHead(open_table())),
        "rayworkers": RayWorkerSource(context),
        "log": open_source("log", context),
    }
    for name in ("ray", "log"):
        ends.callback(sources[name].close)
    state, end = RunState(), time.monotonic() + 3 * PATIENCE_S
    wanted = {rank: 2 if rank == STUCK else 9 for rank in range(8)}
    while {number: rank.step for number, rank in state.ranks.items()} != wanted or behind(state) != [STUCK]:
        assert time.monotonic() < end, (state.ranks, state.ray)
        state = read(sources, state)
        time.sleep(0.5)
    (cluster,) = clusters_of_run(state)
    away = {actor.rank: actor for actor in cluster.actors if actor.pid is None}
    assert len(away) == 6, "two of eight are on the head"
    assert STUCK in away

    worker = sources["rayworkers"]
    (said,) = worker.answer(ActorLogAsk(1, cluster.session, away[STUCK].id), time.time())
    lines = [line for output in said.outputs for line in output.lines]
    assert f"rank {STUCK} wrote this" in lines, "cleaned of control codes"
    assert TOKEN not in repr(said)

    for task in (False, True):
        ask = remote_stacks_ask(state, 2 + task, task=task)
        for part in worker.answer(ask, time.time()):
            state = fold(state, Reading("rayworkers", "here", time.time(), part))
        assert state.far_stacks.done
        assert [stack.problem for stack in state.far_stacks.stacks] == [None] * 6
        _, stacks = with_remote_stacks(state, ())
        odd, *rest = classes(stacks)
        assert odd.ranks == (STUCK,), "alone, or the one of its class"
        assert odd.activity.own.name.endswith("actor_rollout_update_actor")
        assert sum(len(stack_class.ranks) for stack_class in rest) == 5
    nodes.signal(driver.pid, signal.SIGKILL)
    driver.wait(PATIENCE_S)


def test_each_part_of_ray_that_is_stopped_is_told_in_time(nodes, watch_nodes):
    watch = watch_nodes
    nodes.run("fleet.py", "3", "1", until="FLEET HANGS")
    found = watch.until(lambda c: len(living(c)) == 3 and stale_since(c, time.time()) is None)
    head_id = head_node(found).id
    by_kind = {part.kind: part.pid for part in found.parts if part.node in (None, head_id)}

    gcs = by_kind["gcs_server"]
    nodes.signal(gcs, signal.SIGSTOP)
    found = watch.until(lambda c: root(c) == f"the GCS (pid {gcs}) is stopped" and stale_since(c, time.time()))
    assert [odd.actor.rank for odd in outlier_actors(found)] == [1], "processes still tell who is behind"
    nodes.signal(gcs, signal.SIGCONT)
    watch.until(lambda c: stale_since(c, time.time()) is None)

    dashboard = by_kind["dashboard"]
    nodes.signal(dashboard, signal.SIGSTOP)
    found = watch.until(lambda c: c.api.answer == "silent" and root(c) == f"the dashboard (pid {dashboard}) is stopped")
    assert len([actor for actor in living(found) if actor.pid]) == 3, "old rows stay, joined with living processes"
    nodes.signal(dashboard, signal.SIGCONT)
    found = watch.until(lambda c: c.api.answer == "ok")

    second, third = [part for part in found.parts if part.kind == "raylet" and part.node != head_id][:2]
    agent = next(part.pid for part in found.parts if part.kind == "agent" and part.node == third.node)
    nodes.signal(second.pid, signal.SIGSTOP)
    nodes.signal(agent, signal.SIGSTOP)
    said = {f"the raylet (pid {second.pid}) is stopped", f"the agent (pid {agent}) is stopped"}
    found = watch.until(lambda c: said <= {trouble.text for trouble in troubles(c, time.time())})
    assert stale_since(found, time.time()) is None, "the other nodes still report"
    nodes.signal(second.pid, signal.SIGCONT)
    nodes.signal(agent, signal.SIGCONT)
    assert watch.longest_s < IN_TIME_S


def test_each_part_of_ray_that_is_killed_is_told_in_time(nodes, watch_nodes):
    """The last test: nothing is left of the cluster then."""
    watch = watch_nodes
    found = watch.until(lambda c: c.api.answer == "ok" and len(c.nodes) == NODES)
    head_id = head_node(found).id
    others = [part for part in found.parts if part.kind == "raylet" and part.node != head_id and part.gone_at is None]
    by_kind = {part.kind: part.pid for part in found.parts if part.node in (None, head_id)}

    def said(cluster: RayCluster) -> str:
        return "\n".join(trouble.text for trouble in troubles(cluster, time.time()))

    agent = next(part.pid for part in found.parts if part.kind == "agent" and part.node == others[1].node)
    nodes.signal(agent, signal.SIGKILL)
    watch.until(lambda c: f"(pid {agent}) is gone" in said(c) or f"(pid {others[1].pid}) is gone" in said(c))
    nodes.signal(others[0].pid, signal.SIGKILL)
    watch.until(lambda c: f"the raylet (pid {others[0].pid}) is gone" in said(c))
    nodes.signal(by_kind["dashboard"], signal.SIGKILL)
    watch.until(lambda c: f"the dashboard (pid {by_kind['dashboard']}) is gone" in said(c))
    found = watch.until(lambda c: c.api.tables_at is not None)
    assert stale_since(found, time.time()) is None, "Ray's own Python reads the GCS in its place"
    nodes.signal(by_kind["gcs_server"], signal.SIGKILL)
    found = watch.until(lambda c: root(c).startswith(f"the GCS (pid {by_kind['gcs_server']}) is gone"))
    assert stale_since(found, time.time()) is not None
    nodes.signal(by_kind["raylet"], signal.SIGKILL)
    watch.until(lambda c: f"(pid {by_kind['raylet']})" in said(c))
    assert watch.longest_s < IN_TIME_S


def read(sources: dict[str, Source], state: RunState) -> RunState:
    """One look of each."""
    for name, source in sources.items():
        for value in source.read(time.time()):
            state = fold(state, Reading(name, "here", time.time(), value))
    return state


def behind(state: RunState) -> list[int | None]:
    """Ranks that stand out; what other nodes tell is up to 5 s old."""
    return [odd.actor.rank for cluster in clusters_of_run(state) for odd in outlier_actors(cluster)]


def living(cluster: RayCluster) -> list[RayActor]:
    return [actor for actor in cluster.actors if actor.state != "dead"]
