"""States in which two rules hold at once: the one that says what is the matter comes first."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import RULES
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.gpu import Gpu, GpuReading, NodeGpus
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile, StageEvent, StagePlan
from hangtop.records.process import ProcessReading, RayTie, Writer
from hangtop.records.ray.cluster import PlacementGroup, RayActor, RayApi, RayCluster, RayNode, RayPart, RayReading
from hangtop.records.stack import Thread
from hangtop.records.stopped import RunPlace, StoppedRun
from hangtop.state.run_state import RunState
from tests.fakes.members import ALL_REDUCE, BATON, BROADCAST, DATA, IDLE, LOCK, MEETING, NOW, SPEC, four, process, run

STOPPED = StoppedRun("stop", RunPlace(("train.log",)), NOW - 190, 77, 1, NOW - 180, {"train.log": 100})
FAILED = Writer(5, 1.0, "python", "python train.py", alive=False, gone_at=NOW - 190, exit_code=1)
ENDED = process(2, state="X", exit_code=1)
IN_DRIVER = process(2, replace(IDLE, blocked_part=1.0, wchan="nv_wait"), "D", devices=(2,), visible_devices="2")

SESSION = "session_x"
DROVE = RayTie("drives", f"/tmp/ray/{SESSION}", 5, 1.0, 7, "python", "02", gone=True)
RAYLET_STOPPED = (RayPart("raylet", 43, 1.0, state="T", node="n"),)
LEADER = RayActor("TaskRunner", "running", method="run", since=NOW - 190)
WORKERS = tuple(RayActor("WorkerDict", "idle", rank=rank, pid=100 + rank) for rank in range(4))
APART = replace(WORKERS[2], state="running", method="update_actor")

STUCK = {"n1": NodeGpus(GpuReading(stuck_since=NOW - 40, stuck_in="nvmlInit"), NOW)}
SPINS = Gpu(0, "ok", read_at=NOW, util_percent=100.0, power_w=92.0, limit_w=700.0, used_bytes=60 << 30)


def gpus(*known: Gpu) -> dict[str, NodeGpus]:
    return {"n1": NodeGpus(GpuReading(gpus=known), NOW)}


def on_ray(**known: Any) -> dict[str, RayReading]:
    api = RayApi("127.0.0.1:8265", "ok", gcs_ok=True, actors_at=NOW)
    node = RayNode("n", "n1", moved_at=NOW - 1, workers=3, total={"GPU": 8.0})
    return {"n1": RayReading((RayCluster(SESSION, api=api, nodes=(node,), **known),), named=True)}


def alone(**state: Any) -> RunState:
    """One process that waits for a lock."""
    return run({0: LOCK}, (process(0),), **state)


def three(last: Thread, **state: Any) -> RunState:
    """Rank 2 of four is not here, and rank 3 does something else than two that wait in a collective."""
    return run({0: ALL_REDUCE, 1: ALL_REDUCE, 3: last}, (process(0), process(1), process(3)), **state)


def logged(state: RunState, **log: Any) -> RunState:
    assert state.log is not None
    return replace(state, log=replace(state.log, **log))


def loads(state: RunState) -> RunState:
    """In a stage that may be silent for ten minutes."""
    plan = StagePlan("dataset", "dataset", slow_after_s=120, stalled_after_s=600)
    return logged(state, plan=(plan,), stages=(StageEvent("dataset", "dataset", "generic", 0, 10, at=NOW - 900),))


BOTH = [
    ("blind", "by_you", logged(alone(health={"log": SourceHealth("log", problem="no right")}), stopped=STOPPED)),
    ("finished", "writer_gone", run({}, (), stage="finish", procs=ProcessReading((replace(FAILED, exit_code=-15),)))),
    ("writer_gone", "driver_gone", run({}, (), procs=ProcessReading((FAILED,), ray=(DROVE,)), ray=on_ray())),
    (
        "driver_gone",
        "dead",
        alone(procs=ProcessReading(processes=(process(0),), of_ray=(100,), ended=(ENDED,), ray=(DROVE,)), ray=on_ray()),
    ),
    ("pipe_closed", "driver_hung", logged(alone(gpus=STUCK), files=(LogFile("-", status="closed"),))),
    ("driver_hung", "blocked", four(LOCK, IN_DRIVER, gpus=STUCK)),
    (
        "dead",
        "straggler",
        three(LOCK, procs=ProcessReading(processes=(process(0), process(1), process(3)), ended=(ENDED,))),
    ),
    (
        "stopped",
        "straggler",
        run(
            {0: ALL_REDUCE, 1: ALL_REDUCE, 2: LOCK, 3: LOCK},
            (process(0), process(1), process(2, state="T"), process(3)),
        ),
    ),
    ("failed", "blocked", four(LOCK, IN_DRIVER, gpus=gpus(replace(SPINS, index=2, status="lost", since=NOW - 150)))),
    (
        "blocked",
        "straggler",
        run({0: ALL_REDUCE, 1: ALL_REDUCE, 2: LOCK, 3: LOCK}, (process(0), process(1), IN_DRIVER, process(3))),
    ),
    ("dead_actor", "sick", alone(ray=on_ray(actors=(replace(APART, state="gone"),), parts=RAYLET_STOPPED))),
    (
        "sick",
        "no_resources",
        alone(ray=on_ray(actors=(RayActor("Trainer", "resources", resources={"GPU": 16.0}),), parts=RAYLET_STOPPED)),
    ),
    (
        "no_resources",
        "leader_alone",
        alone(
            ray=on_ray(
                actors=(LEADER, *WORKERS), groups=(PlacementGroup("p", "pool", infeasible=True, bundles=(({"GPU": 16.0}, 1),)),)
            )
        ),
    ),
    ("announced", "rendezvous", logged(run({0: MEETING, 1: MEETING}, (process(0), process(1))), announced_until=NOW + 60)),
    (
        "rendezvous",
        "vanished",
        run({0: MEETING, 1: MEETING, 3: ALL_REDUCE}, (process(0), process(1), process(3))),
    ),
    ("dataloader", "straggler", four(DATA)),
    ("vanished", "desync", three(BROADCAST)),
    ("nobody_builds", "straggler", four(BATON)),
    ("straggler", "actor_apart", four(LOCK, ray=on_ray(actors=(*WORKERS[:2], APART, WORKERS[3])))),
    ("leader_alone", "standing_still", alone(ray=on_ray(actors=(LEADER, *WORKERS)))),
    ("all_wait", "spins", four(ALL_REDUCE, gpus=gpus(SPINS, replace(SPINS, index=1)))),
    ("spins", "standing_still", alone(gpus=gpus(SPINS, replace(SPINS, index=1, util_percent=0.0)))),
    (
        "slow",
        "lost_one",
        loads(
            alone(
                looks=(),
                procs=ProcessReading(
                    processes=(process(0, ppid=99),), ended=(replace(ENDED, pid=99, rank=None, role="launcher"),)
                ),
            )
        ),
    ),
]


@pytest.mark.parametrize(("first", "later", "state"), BOTH, ids=[f"{first} before {later}" for first, later, _ in BOTH])
def test_of_two_rules_that_hold_the_one_that_tells_more_is_heard(first: str, later: str, state: RunState) -> None:
    snapshot = take_snapshot(state, SPEC, NOW)
    hold = [rule.__name__ for rule in RULES if rule(snapshot) is not None]
    assert hold[0] == first
    assert later in hold
