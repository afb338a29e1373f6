"""An actor that Ray calls dead has some time for its end before its process counts as left over."""

from __future__ import annotations

import pytest

from hangtop.probe.ray.actor_records import ENDING_S, ActorJoin, FirstSeen
from hangtop.probe.ray.dashboard.api_schema import Actor
from hangtop.probe.ray.dashboard.poll import ApiView
from hangtop.probe.ray.local.ray_processes import LocalWorker
from hangtop.records.ray.cluster import RayActor
from hangtop.system.processes.table import Identity

DIED_AT = 1_000.0
PID = 4242


def actor_at(now: float, first_seen: FirstSeen, *, ray_state: str = "DEAD", process_state: str = "S") -> RayActor:
    ended = DIED_AT * 1000 if ray_state == "DEAD" else None
    view = ApiView(actors={"a": Actor("a", state=ray_state, class_name="Trainer", pid=PID, end_time=ended)})
    worker = LocalWorker(identity=Identity(PID, 1), started_at=900.0, state=process_state, ray_pid=PID)
    (actor,) = ActorJoin([worker], {}, frozenset({PID}), view, first_seen, now).actors()
    first_seen.turn()
    return actor


@pytest.mark.parametrize(("process_state", "left_over"), [("S", True), ("R", True), ("D", True), ("Z", False)])
def test_a_process_that_outlives_its_actor_longer_than_ray_lets_it_is_left_over(process_state, left_over):
    assert not actor_at(DIED_AT + ENDING_S / 2, FirstSeen(), process_state=process_state).pid_alive
    assert actor_at(DIED_AT + ENDING_S + 1, FirstSeen(), process_state=process_state).pid_alive is left_over


def test_the_time_counts_from_its_death_not_from_when_it_was_seen_alive():
    first_seen = FirstSeen()
    assert not actor_at(DIED_AT - 600, first_seen, ray_state="ALIVE").pid_alive
    assert not actor_at(DIED_AT + 2, first_seen).pid_alive
    assert not actor_at(DIED_AT + ENDING_S, first_seen).pid_alive
    assert actor_at(DIED_AT + ENDING_S + 3, first_seen).pid_alive
