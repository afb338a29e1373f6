"""When stacks are asked for, and when a verdict need not wait for more of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.monitor.stack_requests import satisfied, stack_request, waits_request
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.health import SourceHealth
from hangtop.records.process import ProcessReading, RayTie
from hangtop.records.ray.cluster import RayApi, RayCluster, RayNode, RayPart, RayReading
from hangtop.records.stack import Excerpt, Frame, Stack, StacksReading
from hangtop.records.watched_waits import WaitsReading
from hangtop.stacks.frames import own
from tests.fakes.members import IDLE, LOCK, NOW, SPEC, USER, four, process, run, thread
from tests.fakes.waited import OUTSIDE, at_tcp, waits, watch, watched


def test_stacks_are_asked_for_when_a_run_falls_quiet_and_twice() -> None:
    state = four(LOCK, silence_s=70)
    calm = take_snapshot(replace(four(LOCK, silence_s=5), looks=()), SPEC, NOW)
    quiet = take_snapshot(replace(state, looks=()), SPEC, NOW)
    assert stack_request(calm) is None
    asked = stack_request(quiet)
    assert asked is not None
    assert asked.pids == (100, 101, 102, 103)
    just = take_snapshot(replace(state, looks=(replace(state.looks[0], started_at=NOW - 1),)), SPEC, NOW)
    assert stack_request(just) is None
    second = take_snapshot(replace(state, looks=(replace(state.looks[0], started_at=NOW - 3),)), SPEC, NOW)
    assert stack_request(second) is not None


def test_a_verdict_waits_for_its_second_look_only_while_one_can_come() -> None:
    state = four(LOCK)
    one_look = take_snapshot(replace(state, looks=state.looks[:1]), SPEC, NOW)
    assert not satisfied(one_look)
    assert satisfied(take_snapshot(state, SPEC, NOW))
    refused = replace(state, looks=(), health={**state.health, "stacks": SourceHealth("stacks", problem="py-spy not found")})
    assert satisfied(take_snapshot(refused, SPEC, NOW))


def test_a_verdict_waits_for_a_second_look_at_a_checkpoint_that_may_be_growing() -> None:
    once = CheckpointReading("/ckpt", "--ckpt", newest="model.pt", modified_at=NOW - 1)
    assert not satisfied(take_snapshot(four(LOCK, checkpoints=once), SPEC, NOW))
    assert satisfied(take_snapshot(four(LOCK, checkpoints=replace(once, growth_b_s=0.0)), SPEC, NOW))
    assert satisfied(take_snapshot(four(LOCK, checkpoints=replace(once, modified_at=NOW - 900)), SPEC, NOW))


def test_a_verdict_on_a_run_that_speaks_or_has_no_process_here_waits_for_no_stacks() -> None:
    assert satisfied(take_snapshot(replace(four(LOCK, silence_s=5), looks=()), SPEC, NOW))
    assert satisfied(take_snapshot(run({}, (), looks=()), SPEC, NOW))


def test_a_verdict_waits_until_the_log_was_asked_about_the_processes_that_may_be_the_run() -> None:
    state = run({}, (), looks=())
    assert state.log is not None
    read = replace(state, log=replace(state.log, caught_up=True))
    assert not satisfied(take_snapshot(replace(read, procs=ProcessReading(leads=(7,))), SPEC, NOW))
    assert satisfied(take_snapshot(replace(read, procs=ProcessReading(leads=(7,), weighed=True)), SPEC, NOW))
    unread = replace(state, log=replace(state.log, caught_up=False))
    assert satisfied(take_snapshot(replace(unread, procs=ProcessReading(leads=(7,))), SPEC, NOW)), (
        "the log is waited for elsewhere"
    )


def test_the_lines_around_a_place_come_after_its_stack_and_are_waited_for() -> None:
    state = four(LOCK)
    first, second = state.looks
    place = LOCK.frames[own(LOCK.frames)[0]]
    just = replace(second, started_at=NOW - 1.0, took_s=0.2)
    assert not satisfied(take_snapshot(replace(state, looks=(first, just)), SPEC, NOW))
    told = replace(just, excerpts=(Excerpt(place.file, place.line, ("x",), at=place.line),))
    assert satisfied(take_snapshot(replace(state, looks=(first, told)), SPEC, NOW))
    assert satisfied(take_snapshot(replace(state, looks=(first, replace(just, started_at=NOW - 5.0))), SPEC, NOW)), "not for ever"


def test_looks_that_are_not_over_or_of_another_moment_do_not_count() -> None:
    state = four(LOCK)
    first, second = state.looks
    assert not satisfied(take_snapshot(replace(state, looks=(first, replace(second, done=False))), SPEC, NOW))
    assert not satisfied(take_snapshot(replace(state, looks=(replace(first, started_at=NOW - 900), second)), SPEC, NOW))


def test_a_verdict_on_a_run_on_ray_waits_for_a_dashboard_that_has_told_nothing_yet() -> None:
    tie = RayTie("drives", "/tmp/ray/session_x", 102, 1.0, 7, "python", "01")
    state = four(LOCK)
    assert state.procs is not None
    on_ray = replace(
        state, procs=replace(state.procs, ray=(tie,)), health={**state.health, "ray": SourceHealth("ray", read_at=NOW)}
    )

    def judged(*nodes: RayNode) -> bool:
        cluster = RayCluster("session_x", api=RayApi("127.0.0.1:8265", "ok"), nodes=nodes)
        return satisfied(take_snapshot(replace(on_ray, ray={"": RayReading((cluster,))}), SPEC, NOW))

    assert not judged()
    assert judged(RayNode("n", "n1"))


def test_the_first_watch_comes_once_ray_has_told_the_workers_or_after_two_looks() -> None:
    tie = RayTie("drives", "/tmp/ray/session_x", 102, 1.0, 7, "python", "01")
    state = four(LOCK)
    assert state.procs is not None
    health = {**state.health, "ray": SourceHealth("ray", read_at=NOW)}
    on_ray = replace(state, procs=replace(state.procs, ray=(tie,)), health=health, looks=state.looks[:1])

    def asked(*nodes: RayNode, looks: tuple[StacksReading, ...] = on_ray.looks) -> bool:
        cluster = RayCluster("session_x", api=RayApi("127.0.0.1:8265", "ok"), nodes=nodes)
        known = replace(on_ray, ray={"": RayReading((cluster,))}, looks=looks)
        return waits_request(take_snapshot(known, SPEC, NOW)) is not None

    assert not asked()
    assert asked(RayNode("n", "n1"))
    assert asked(looks=state.looks), "a dashboard may never tell"


def test_where_a_part_of_ray_is_stopped_the_first_windows_of_the_watch_are_enough() -> None:
    tie = RayTie("drives", "/tmp/ray/session_x", 102, 1.0, 7, "python", "01")
    state = four(LOCK)
    assert state.procs is not None
    health = {name: SourceHealth(name, read_at=NOW) for name in ("ray", "waits")}
    on_ray = replace(state, procs=replace(state.procs, ray=(tie,)), health={**state.health, **health})
    begun = replace(watch(asked=(100, 101, 102, 103)), done=False, seconds=3.0)

    def judged(state_of_gcs: str, reading: WaitsReading | None = begun) -> bool:
        parts = (RayPart("gcs_server", 42, 1.0, state=state_of_gcs),)
        cluster = RayCluster("session_x", api=RayApi("127.0.0.1:8265", "ok"), parts=parts, nodes=(RayNode("n", "n1"),))
        return satisfied(take_snapshot(replace(on_ray, waits=reading, ray={"": RayReading((cluster,))}), SPEC, NOW))

    assert judged("T")
    assert not judged("S"), "the watch goes on"
    assert not judged("T", None), "who moves all the same is not known yet"


@pytest.mark.parametrize(("watched_s", "enough"), [(1.0, False), (10.0, True)])
def test_who_waits_for_the_network_is_watched_for_a_moment_to_tell_whether_answers_come(watched_s: float, enough: bool) -> None:
    asks = thread(Frame("ask_rewards", USER, 67), wait="socket")
    assert satisfied(take_snapshot(four(asks, process(2, replace(IDLE, seconds=watched_s))), SPEC, NOW)) is enough
    assert satisfied(take_snapshot(four(LOCK, process(2, replace(IDLE, seconds=watched_s))), SPEC, NOW))


def test_the_stack_of_a_process_that_is_asked_for_an_answer_is_looked_at_before_a_verdict() -> None:
    server = watched(OUTSIDE, waits(OUTSIDE, at_tcp(9, 102), kind="poll"), listens=("2",), woken_in=3)
    asked = replace(four(LOCK), waits=watch(watched(102, waits(102, at_tcp(8, OUTSIDE))), server, at=NOW - 10))
    snapshot = take_snapshot(asked, SPEC, NOW)
    assert snapshot.answering == (OUTSIDE,)
    assert not satisfied(snapshot)
    ask = stack_request(snapshot)
    assert ask is not None
    assert OUTSIDE in ask.pids
    seen = replace(asked.looks[-1], stacks=(*asked.looks[-1].stacks, Stack(OUTSIDE, NOW - 1, problem="not a Python process")))
    assert satisfied(take_snapshot(replace(asked, looks=(*asked.looks[:-1], seen)), SPEC, NOW))
