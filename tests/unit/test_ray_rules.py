"""When Ray's word is trusted, what is sick, who stands out, what is lacking."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.ray_health import outlier_actors, stale_since, troubles
from hangtop.diagnosis.facts.ray_pending import lacking, pending_resources
from hangtop.diagnosis.judge import diagnose, judge
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.advice import Advice
from hangtop.records.log import LogFile, LogReading
from hangtop.records.ray.cluster import Death, Demand, PlacementGroup, RayActor, RayApi, RayCluster, RayNode, RayPart, RayReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState, fold

NOW = 1_768_125_000.0
HEALTHY = RayApi("127.0.0.1:8265", "ok", NOW - 60, True, NOW - 60, NOW - 1, version="2.60.0")
NODE = RayNode(
    "n" * 56, "n1", moved_at=NOW - 3, head=True, local=True, used={"GPU": 6.0, "CPU": 1.0}, total={"GPU": 8.0, "CPU": 16.0}
)


def worker(rank: int, method: str | None, **known: object) -> RayActor:
    state = "running" if method else "idle"
    return RayActor(
        **{"cls": "WorkerDict", "state": state, "method": method, "rank": rank, "pid": 100 + rank, "since": NOW - 50} | known
    )


def cluster(**known: object) -> RayCluster:
    return RayCluster(**{"session": "session_x", "api": HEALTHY, "nodes": (NODE,)} | known)


def test_a_green_dashboard_is_trusted_while_reports_move_and_the_gcs_is_well():
    assert stale_since(cluster(), NOW) is None
    assert troubles(cluster(), NOW) == ()


def test_frozen_reports_make_it_stale_after_fifteen_seconds_of_our_own_clock():
    assert stale_since(cluster(), NOW + 11) is None
    assert stale_since(cluster(), NOW + 13) == NODE.moved_at
    assert "does not report" in troubles(cluster(), NOW + 13)[0].text


def test_a_silent_gcs_makes_it_stale_at_once():
    sick = cluster(api=replace(HEALTHY, gcs_ok=False, gcs_since=NOW - 2))
    assert stale_since(sick, NOW) == NOW - 2
    assert [trouble.part for trouble in troubles(sick, NOW)] == ["gcs_server"]


@pytest.mark.parametrize(
    ("answer", "part", "words"),
    [
        ("refused", "dashboard", "refuses connections"),
        ("silent", "dashboard", "does not answer"),
        ("needs_token", "token", "needs a token"),
        ("wrong_token", "token", "refuses the token"),
        ("strange", "version", "does not know"),
    ],
)
def test_each_failure_of_the_dashboard_has_its_words_and_old_data_its_age(answer, part, words):
    sick = cluster(api=replace(HEALTHY, answer=answer, gcs_ok=None, problem="no answer within 1.5 s"))
    (trouble,) = troubles(sick, NOW)
    assert trouble.part == part
    assert words in trouble.text
    assert trouble.mend
    assert stale_since(sick, NOW) == HEALTHY.actors_at


def test_a_stopped_daemon_is_named_with_the_command_that_mends_it():
    parts = (RayPart("gcs_server", 42, 1.0, state="T"), RayPart("raylet", 43, 1.0))
    sick = cluster(parts=parts, api=replace(HEALTHY, gcs_ok=False, gcs_since=NOW - 2))
    (trouble,) = troubles(sick, NOW)
    assert trouble.text == "the GCS (pid 42) is stopped"
    assert trouble.mend == "kill -CONT 42"


def test_a_dead_raylet_is_the_root_and_its_orphans_are_told():
    parts = (RayPart("raylet", 43, 1.0, node="n", gone_at=NOW - 9), RayPart("agent", 44, 1.0, node="n", gone_at=NOW - 9))
    found = troubles(cluster(parts=parts, orphans=(70, 71)), NOW)
    assert [trouble.part for trouble in found] == ["raylet", "orphans"]
    assert "2 workers without a raylet live on (pid 70 71)" in found[1].text


def test_an_agent_follows_the_raylet_of_its_own_node_and_of_no_other():
    def said(*stopped: RayPart) -> list[str]:
        return [trouble.text for trouble in troubles(cluster(parts=stopped), NOW)]

    raylet = RayPart("raylet", 1, NOW - 100, state="T", node="a")
    assert said(raylet, RayPart("agent", 2, NOW - 100, state="T", node="a")) == ["the raylet (pid 1) is stopped"]
    both = said(raylet, RayPart("agent", 3, NOW - 100, state="T", node="b"))
    assert both == ["the raylet (pid 1) is stopped", "the agent (pid 3) is stopped"]


def test_parts_follow_their_dashboard_wherever_they_are_said_to_be():
    parts = (
        RayPart("dashboard", 1, NOW - 100, state="T", node=None),
        RayPart("dashboard_part", 2, NOW - 100, state="T", name="StateHead", node="a"),
    )
    assert [trouble.text for trouble in troubles(cluster(parts=parts), NOW)] == ["the dashboard (pid 1) is stopped"]


def test_a_daemon_that_was_replaced_is_no_trouble():
    parts = (RayPart("raylet", 43, 1.0, node="n", gone_at=NOW - 9), RayPart("raylet", 99, 2.0, node="n"))
    assert troubles(cluster(parts=parts), NOW) == ()


def test_where_the_tables_stand_for_a_dashboard_that_is_gone_they_are_trusted_until_the_gcs_is_gone_too():
    dashboard = RayPart("dashboard", 1, 1.0, gone_at=NOW - 9)
    api = replace(HEALTHY, answer="refused", gcs_ok=None, tables_at=NOW - 5)
    told = cluster(parts=(dashboard, RayPart("gcs_server", 2, 1.0)), api=api)
    (trouble,) = troubles(told, NOW)
    assert "is gone since" in trouble.text
    assert "nobody tells" not in trouble.text
    assert trouble.mend.startswith("Ray's own Python reads actors")
    assert stale_since(told, NOW) is None
    untold = replace(told, parts=(dashboard, RayPart("gcs_server", 2, 1.0, gone_at=NOW - 1)))
    assert [trouble.part for trouble in troubles(untold, NOW)] == ["gcs_server", "dashboard"]
    assert stale_since(untold, NOW) == NOW - 5


def test_the_rank_that_still_runs_while_all_others_came_back_stands_out():
    actors = tuple(worker(rank, "update_actor" if rank == 3 else None) for rank in range(8))
    (odd,) = outlier_actors(cluster(actors=actors))
    assert odd.actor.rank == 3
    assert "in update_actor" in odd.why
    assert "7 others are between calls" in odd.why


def test_nobody_stands_out_when_the_group_is_split_or_small():
    halves = tuple(worker(rank, "update_actor" if rank < 4 else None) for rank in range(8))
    assert outlier_actors(cluster(actors=halves)) == ()
    assert outlier_actors(cluster(actors=halves[3:5])) == ()


def test_classes_are_compared_only_with_themselves():
    actors = (*(worker(rank, "sync") for rank in range(8)), RayActor("TaskRunner", "running", method="run", pid=7))
    assert outlier_actors(cluster(actors=actors)) == ()


@pytest.mark.parametrize("state", ["gone", "zombie", "stopped", "blocked"])
def test_an_actor_whose_process_does_not_live_stands_out_by_itself(state):
    (odd,) = outlier_actors(cluster(actors=(worker(0, None, state=state),)))
    assert odd.sure


def test_a_death_that_was_meant_is_not_odd():
    meant, crash = Death("killed by ray.kill", intended=True), Death("its process ended: SYSTEM_ERROR")
    actors = (worker(0, None, state="dead", death=meant), worker(1, None, state="dead", death=crash))
    assert [odd.actor.rank for odd in outlier_actors(cluster(actors=actors))] == [1]


def test_what_is_asked_for_and_not_there_is_said_in_words():
    assert lacking({"GPU": 4.0}, (NODE,)) == ("GPU: 2 free on the freest node", False)
    assert lacking({"GPU": 16.0}, (NODE,)) == ("the largest node has GPU 8", True)
    assert lacking({"TPU": 1.0}, (NODE,)) == ("no node has TPU", True)
    assert lacking({"GPU": 2.0}, (NODE,)) == ("", False)


def test_what_can_never_be_had_is_said_first():
    pending = tuple(RayActor("Trainer", "resources", id=str(i), resources={"GPU": 4.0}, since=NOW - 9) for i in range(3))
    group = PlacementGroup("p", "pool", infeasible=True, bundles=(({"GPU": 16.0}, 2),))
    first, second = pending_resources(cluster(actors=pending, groups=(group,), demand=(Demand({"GPU": 4.0}, 3),)))
    assert first.impossible
    assert first.who == "placement group pool"
    assert (second.who, second.asks) == ("Trainer ×3", "GPU 4")


def test_tasks_that_no_node_can_ever_run_are_told_and_a_queue_is_not():
    actors = (RayActor("Trainer", "resources", resources={"GPU": 9.0, "CPU": 1.0}),)
    demand = (Demand({"GPU": 9.0, "CPU": 1.0}, 3), Demand({"CPU": 1.0}, 500), Demand({"myThing": 1.0}, 1))
    told = {wish.who: wish.lack for wish in pending_resources(cluster(actors=actors, demand=demand))}
    assert told == {"Trainer": "the largest node has GPU 8", "task ×2": "the largest node has GPU 8"}


def test_a_list_of_actors_that_fails_while_the_rest_answers_makes_it_stale():
    api = replace(HEALTHY, late=("/logical/actors",), actors_at=NOW - 20)
    assert stale_since(cluster(api=api), NOW) == NOW - 20
    assert "does not answer /logical/actors" in troubles(cluster(api=api), NOW)[0].text


def test_a_dashboard_that_does_not_know_the_health_of_its_gcs_is_not_taken_for_a_sick_one():
    old = cluster(api=replace(HEALTHY, gcs_ok=None))
    assert (stale_since(old, NOW), troubles(old, NOW)) == (None, ())


def quiet_run(ray: RayCluster) -> tuple[RunState, WatchSpec]:
    """A Ray run whose log is silent for ten minutes."""
    log = LogReading(files=(LogFile("train.log", size_bytes=9),), last_output_at=NOW - 600, profiles=("verl", "ray"))
    state = RunState()
    for value in (log, RayReading((ray,), named=True)):
        state = fold(state, Reading("test", "n1", NOW, value))
    return state, WatchSpec(logs=("train.log",))


def advised(ray: RayCluster) -> Advice:
    """The first advice for such a run."""
    snapshot = take_snapshot(*quiet_run(ray), NOW)
    return advice(snapshot, judge(snapshot))[0]


def test_a_quiet_run_whose_actors_ask_for_what_nobody_has_waits_for_resources():
    pending = RayActor("Trainer", "resources", id="a", resources={"GPU": 16.0}, since=NOW - 500)
    verdict = diagnose(*quiet_run(cluster(actors=(pending,))), NOW)
    assert (verdict.word, verdict.kind) == ("waiting", "resources")
    assert verdict.headline == "Trainer waits for GPU 16: the largest node has GPU 8."
    first = advised(cluster(actors=(pending,)))
    assert first.cause == "Trainer asks for GPU 16, which no node has: the largest node has GPU 8"
    assert first.paste == "trainer.n_gpus_per_node=N trainer.nnodes=1"


def test_a_quiet_run_names_the_actor_that_stays_behind():
    actors = tuple(worker(rank, "update_actor" if rank == 3 else None) for rank in range(8))
    verdict = diagnose(*quiet_run(cluster(actors=actors)), NOW)
    assert verdict.word == "hung"
    assert [culprit.rank for culprit in verdict.culprits] == [3]


def test_a_quiet_run_names_the_actor_that_died_with_its_error():
    crash = Death("its __init__ raised", "RuntimeError: no model", ("RuntimeError: no model",))
    actors = (worker(0, "sync"), worker(1, None, state="dead", death=crash, since=NOW - 590))
    verdict = diagnose(*quiet_run(cluster(actors=actors)), NOW)
    assert (verdict.word, verdict.kind) == ("crashed", "dead_process")
    assert verdict.headline == "WorkerDict rank 1: dead: its __init__ raised, RuntimeError: no model."
    assert advised(cluster(actors=actors)).cause == "WorkerDict rank 1: dead: its __init__ raised, RuntimeError: no model"


def test_an_actor_that_died_long_before_the_last_output_is_not_blamed():
    crash = Death("its process ended: SYSTEM_ERROR")
    actors = tuple(worker(rank, "sync") for rank in range(4))
    old = worker(9, None, state="dead", death=crash, since=NOW - 9_000)
    assert diagnose(*quiet_run(cluster(actors=(*actors, old))), NOW).kind != "dead_process"


def test_a_gcs_that_is_stopped_is_the_cause_of_a_quiet_run():
    parts = (RayPart("gcs_server", 42, 1.0, state="T"),)
    sick = cluster(parts=parts, api=replace(HEALTHY, gcs_ok=False, gcs_since=NOW - 590))
    verdict = diagnose(*quiet_run(sick), NOW)
    assert (verdict.word, verdict.kind) == ("hung", "stopped")
    assert verdict.headline == "Ray is sick: the GCS (pid 42) is stopped."
    assert (advised(sick).cause, advised(sick).remedy) == ("the GCS (pid 42) is stopped", "kill -CONT 42")
