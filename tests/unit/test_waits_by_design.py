"""Waits that are no hang, or somebody else's: pools that sleep by design, a teacher, a reward that never comes, workers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.status.ray_methods import LEADS, methods
from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.log import LogFile
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.ray.cluster import RayActor, RayApi, RayCluster, RayNode, RayReading
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from tests.fakes.read_log import INDEX

NOW = 1_768_125_000.0
DRIVER, NODE = 90, "n" * 56
GKD = (
    "TaskRunner hostname: n1, PID: 133947",
    "resource_pool_spec: {'rollout_pool': [4], 'actor_pool': [4]}",
    "Size of train dataloader: 870",
    "Total training steps: 870",
)
VERL = ("TaskRunner hostname: n1, PID: 133947", "resource_pool_spec: {'global_pool': [4]}", *GKD[2:])


def gkd_steps(number: int) -> list[str]:
    """So many whole steps, and the first half of another: the teacher is asked next."""
    lines = list(GKD)
    for step in range(1, number + 1):
        lines += [
            "INFO: generate text done.",
            "INFO: update actor done.",
            f"step:{step} - actor/kl_loss:0.1 - timing_s/step:30.0",
        ]
        lines.append(f"Training Progress:   3%|3| {step}/870 [10:37<5:08:06, 30.47s/it]")
    return [*lines, "INFO: generate text done."]


def verl_steps(number: int) -> list[str]:
    return [*VERL, *(f"step:{step} - actor/pg_loss:0.1 - timing_s/step:30.0" for step in range(1, number + 1))]


def verdict(lines: list[str] | tuple[str, ...], silent_s: float, *actors: RayActor) -> Verdict:
    """What is said of a run whose last line is so old; a line came every 10 s."""
    digest, last = Digest(INDEX, 0), NOW - silent_s
    for place, line in enumerate(lines):
        digest.feed(f"(TaskRunner pid=133947) {line}\n".encode(), at=last - 10.0 * (len(lines) - 1 - place))
    size = sum(len(line) for line in lines)
    log = join_logs([digest.facts()], [LogFile("train.log", "ok", size, size)], INDEX.catalog, last_output_at=last)
    node = RayNode(NODE, "n1", moved_at=NOW - 1, head=True, local=True, used={"GPU": 4.0}, total={"GPU": 4.0})
    api = RayApi("127.0.0.1:8265", "ok", gcs_ok=True, actors_at=NOW)
    ray = RayCluster("s", api=api, nodes=(node,), actors=actors, actors_total=len(actors))
    driver = Process(DRIVER, NOW - 9_000, 0, 1, "python", "python -m verl.trainer.main_ppo", "S")
    procs = ProcessReading(processes=(driver,), writers=(Writer(DRIVER, NOW - 9_000, "python", driver.command),))
    state = RunState()
    for value in (log, procs, RayReading((ray,), named=True)):
        state = fold(state, Reading("x", "n1", NOW, value))
    return diagnose(replace(state, heard_at=NOW), WatchSpec(logs=("train.log",)), NOW)


def worker(rank: int, **known: object) -> RayActor:
    plain = {"id": f"{rank}", "rank": rank, "world": 4, "ray_pid": 200 + rank, "node": NODE, "since": NOW - 400}
    return RayActor("WorkerDict", **({"state": "idle"} | plain | known))  # type: ignore[arg-type]


LEADER = RayActor("TaskRunner", "running", id="t", method="run", ray_pid=133947, node=NODE, since=NOW - 9_000)
IDLE = tuple(map(worker, range(4)))


def test_pools_that_sleep_twenty_seconds_each_are_within_their_limit():
    assert verdict(GKD, 45).word == "running"
    said = verdict(GKD, 150)
    assert (said.word, said.stage.id) == ("slow", "resource_pool")
    assert "7:00" in said.headline
    assert verdict(GKD, 450).word == "stalled"


def test_a_teacher_may_take_the_ten_minutes_that_its_client_waits():
    said = verdict(gkd_steps(8), 290, LEADER, *IDLE)
    assert said.word == "slow", said
    assert "the teacher server; its client gives up after 10:00" in said.headline
    assert said.culprits == ()


def test_a_teacher_that_takes_longer_hangs_the_run():
    said = verdict(gkd_steps(8), 700, LEADER, *IDLE)
    assert (said.word, said.confidence) == ("hung", "likely")
    assert said.headline == "TaskRunner pid 133947 alone is at work, in run: it waits for the teacher server."
    assert [fact.text for fact in said.evidence if fact.source == "ray"] == ["4 workers between calls, none at work"]


def test_a_leader_that_waits_while_no_worker_is_called_waits_for_something_outside():
    said = verdict(verl_steps(8), 290, LEADER, *IDLE)
    assert said.word == "hung"
    assert "what is no actor: a reward, a tool, a judge, or its own code" in said.headline
    assert [culprit.confidence for culprit in said.culprits] == ["possible"]


@pytest.mark.parametrize("others", [IDLE[:3], ()], ids=["one works", "no workers"])
def test_it_is_not_the_leader_while_a_worker_works_or_none_is_known(others):
    busy = tuple(worker(rank, state="running", method="actor_rollout_update_actor") for rank in range(3, 4)) if others else ()
    said = verdict(verl_steps(8), 290, LEADER, *others, *busy)
    assert "alone is at work" not in said.headline


def test_a_run_that_waits_for_resources_says_how_many_workers_there_are():
    wants = worker(3, state="resources", ray_pid=None, node=None, resources={"GPU": 1.0})
    said = verdict([*VERL, "INFO: 3/4 workers created"], 400, LEADER, *IDLE[:3], wants)
    assert (said.word, said.kind) == ("waiting", "resources")
    assert "3 of 4 workers created" in [fact.text for fact in said.evidence]


def test_the_file_of_methods_names_who_leads():
    assert any(method.says == LEADS for method in methods())
