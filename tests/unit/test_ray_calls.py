"""Which workers of a run on Ray a hang hangs on: those at a call. The idle, and those that wait for a call, are no work and no
cause, whatever Ray's own threads take."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.check_report import report
from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.process import Process, ProcessReading, RayTie, RecentActivity
from hangtop.records.ray.cluster import Demand, PlacementGroup, RayActor, RayApi, RayCluster, RayDriver, RayNode, RayReading
from hangtop.records.stack import Frame, Thread
from hangtop.records.verdict import Verdict
from hangtop.state.run_state import RunState
from tests.fakes.members import ALL_REDUCE, BUSY, IDLE, NOW, SPEC, USER, process, run
from tests.fakes.waited import waits, watch, watched

WORKER_PY = "/venv/lib/python3.11/site-packages/ray/_private/worker.py"
LOOP = Frame("main_loop", WORKER_PY, 992)
GET = Frame("get", WORKER_PY, 3009)
PLACE = {"Worker.update": 39, "Helper.ask": 13, "Trainer.run": 77}
DRIVER = 190
SESSION = "/tmp/ray/session_2026-01-10_08-00-00_1_5"
POLLS = RecentActivity(
    seconds=10, samples=10, running_part=0.6, cpu_percent=3.0, switches_s=88.0, main_cpu_part=0.005, io_b_s=0.0
)
"""What an idle worker takes: its main thread wakes up 88 times a second, and may be seen to run on a crowded machine."""


def thread(*frames: Frame, state: str = "S", wait: Any = "lock") -> Thread:
    return Thread("MainThread", frames, tid=None, state=state, wait=None if state == "R" else wait, owns_gil=state == "R")


def idle() -> Thread:
    return thread(LOOP, Frame("<module>", "/venv/lib/python3.11/site-packages/ray/_private/workers/default_worker.py", 323))


def at(call: str, *inner: Frame, **how: Any) -> Thread:
    return thread(*inner, Frame(call.partition(".")[2], USER, PLACE[call]), LOOP, **how)


def worker(number: int, title: str, recent: RecentActivity = POLLS, **more: Any) -> Process:
    known = replace(process(number, recent), role="ray worker", rank=None, world=None, ppid=90)
    return replace(known, command=f"ray::{title}", name=f"ray::{title}"[:15], **more)


def on_ray(shown: dict[int, Thread], *processes: Process, later: dict[int, Thread] | None = None, **more: Any) -> RunState:
    tie = RayTie("drives", SESSION, DRIVER, 1.0, 7, "python", "01000000")
    driver = replace(process(DRIVER - 100, IDLE), role="launcher", rank=None, command="python job.py", subtree_cpu_percent=40.0)
    waits = {DRIVER - 100: thread(GET, Frame("main", USER, 82))}
    state = run({**shown, **waits}, (driver, *processes), later={**(later or shown), **waits}, **more)
    return replace(state, procs=ProcessReading(processes=(driver, *processes), ray=(tie,)))


def verdict(state: RunState) -> Verdict:
    return diagnose(state, SPEC, NOW)


def accused(state: RunState) -> list[int | None]:
    return [culprit.pid for culprit in verdict(state).culprits]


TRAINER = worker(0, "Trainer.run", IDLE)
LEADS = {0: at("Trainer.run", GET, wait="lock")}
LOCKED = at("Worker.update")


def test_of_actors_in_a_lock_and_idle_the_locked_one_is_named():
    shown = {**LEADS, 1: idle(), 2: LOCKED, 3: idle()}
    state = on_ray(shown, TRAINER, worker(1, "Worker"), worker(2, "Worker.update", IDLE), worker(3, "Worker"))
    said = verdict(state)
    assert (said.word, said.confidence) == ("hung", "likely")
    assert said.headline == "Worker pid 102, in Worker.update: waits for a lock in update (train.py:39), and nothing moves."
    assert accused(state) == [102]
    assert [fact.text for fact in said.evidence][-2] == "2 workers between calls"


def test_one_actor_alone_is_named_as_well():
    assert accused(on_ray({**LEADS, 1: LOCKED}, TRAINER, worker(1, "Worker.update", IDLE))) == [101]


def test_who_waits_for_the_answer_of_a_helper_is_not_blamed_for_it():
    shown = {**LEADS, 1: idle(), 2: at("Worker.update", GET), 4: at("Helper.ask")}
    numbered = replace(worker(2, "Worker.update", IDLE), role="rank", rank=2, world=3)
    state = on_ray(shown, TRAINER, worker(1, "Worker"), numbered, worker(4, "Helper.ask", IDLE))
    assert verdict(state).word == "hung"
    assert accused(state) == [104]


def test_a_worker_that_works_is_why_the_others_wait():
    busy = worker(2, "Worker.update", BUSY)
    state = on_ray({**LEADS, 1: idle(), 2: at("Worker.update", state="R")}, TRAINER, worker(1, "Worker"), busy)
    assert verdict(state).word == "slow"
    assert verdict(state).headline.startswith("Worker pid 102 works in update")


def test_ray_s_threads_and_daemons_are_no_sign_of_life():
    state = on_ray({**LEADS, 1: idle(), 2: idle()}, TRAINER, worker(1, "Worker"), worker(2, "Worker"))
    snapshot = take_snapshot(state, SPEC, NOW)
    assert not any(member.alive for member in (*snapshot.members, *snapshot.aside))
    assert verdict(state).word == "hung"


def test_ranks_that_wait_for_an_idle_peer_miss_it():
    ranks = [replace(worker(n, "Worker.update"), role="rank", rank=n, world=3) for n in (1, 2)]
    late = replace(worker(3, "Worker"), role="rank", rank=0, world=3)
    state = on_ray({**LEADS, 1: ALL_REDUCE, 2: ALL_REDUCE, 3: idle()}, TRAINER, *ranks, late)
    assert [culprit.rank for culprit in verdict(state).culprits] == [0]


def test_a_coroutine_that_awaits_stands_on_no_stack_but_in_the_title():
    state = on_ray({1: idle(), 2: idle()}, worker(1, "Server.answer"), worker(2, "Server"))
    assert verdict(state).headline.startswith("Server pid 101, in Server.answer: is in Server.answer by its title, and awaits")
    assert accused(state) == [101]


def test_actors_that_all_wait_for_calls_are_no_single_culprit():
    state = on_ray(
        {1: at("Worker.update", GET), 2: at("Worker.update", GET)},
        worker(1, "Worker.update", IDLE),
        worker(2, "Worker.update", IDLE),
    )
    assert verdict(state).word == "hung"
    assert verdict(state).culprits == ()


def test_the_one_at_a_call_of_many_workers_is_not_the_only_process_of_the_run():
    shown = {**LEADS, 1: idle(), 2: LOCKED}
    state = on_ray(shown, TRAINER, worker(1, "Worker"), worker(2, "Worker.update", IDLE))
    told = report(take_snapshot(state, SPEC, NOW), verdict(state))
    assert [culprit.rank for culprit in told.culprits] == [None]


@pytest.mark.parametrize("later", [False, True])
def test_a_worker_whose_calls_come_and_go_between_two_looks_works(later):
    first = {**LEADS, 1: idle(), 2: idle()}
    second = {**LEADS, 1: at("Worker.update", wait="sleep"), 2: idle()}
    state = on_ray(
        second if later else first, TRAINER, worker(1, "Worker"), worker(2, "Worker"), later=first if later else second
    )
    assert verdict(state).word in ("slow", "running")


def test_stacks_are_asked_of_those_that_idle_too():
    state = on_ray({**LEADS, 1: idle(), 2: LOCKED}, TRAINER, worker(1, "Worker"), worker(2, "Worker.update", IDLE))
    assert set(take_snapshot(state, SPEC, NOW).pids) >= {100, 101, 102, DRIVER}


def test_workers_that_wait_for_each_other_s_calls_stand_in_a_ring():
    actors = tuple(RayActor("Worker", "running", method="update", pid=100 + n, id=str(n), job="01000000") for n in (1, 2))
    cluster = RayCluster("session_2026-01-10_08-00-00_1_5", actors=actors, api=RayApi("a", "ok", 1.0, True))
    both = (worker(1, "Worker.update", IDLE), worker(2, "Worker.update", IDLE))
    state = on_ray({1: at("Worker.update", GET), 2: at("Worker.update", GET)}, *both)
    state = replace(state, ray={"": RayReading((cluster,), named=True)})
    assert verdict(state).headline.startswith("2 workers of Ray wait for each other's calls, and no call runs")
    assert accused(state) == [101, 102]
    far = replace(cluster, actors=(*actors, RayActor("Worker", "running", method="update", ray_pid=9, id="9", job="01000000")))
    assert accused(replace(state, ray={"": RayReading((far,), named=True)})) == []


def test_a_worker_that_waits_for_a_call_while_no_other_runs_one_waits_for_one_behind_its_own():
    actors = (RayActor("Worker", "running", method="update", pid=101, job="01000000"),)
    cluster = RayCluster("session_2026-01-10_08-00-00_1_5", actors=actors, api=RayApi("a", "ok", 1.0, True))
    state = on_ray({1: at("Worker.update", GET), 2: idle()}, worker(1, "Worker.update", IDLE), worker(2, "IDLE"))
    state = replace(state, ray={"": RayReading((cluster,), named=True)})
    assert (verdict(state).word, accused(state)) == ("hung", [101])
    runs = on_ray({1: at("Worker.update", GET), 2: at("Helper.ask")}, worker(1, "Worker.update"), worker(2, "Helper.ask"))
    assert verdict(replace(runs, ray=state.ray)).rule != "calls_in_a_ring"


@pytest.mark.parametrize(("state", "word"), [("running", "stalled"), ("unknown", "stalled"), ("idle", "hung"), ("dead", "hung")])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_named_actor_of_another_job_may_run_the_call_that_is_waited_for(workers, state, word):
    numbers = range(1, workers + 1)
    actors = tuple(RayActor("Worker", "running", method="update", pid=100 + n, id=str(n), job="01000000") for n in numbers)
    judge = RayActor("Judge", state, id="9", name="judge", pid=4711, job="02000000")
    cluster = RayCluster("session_2026-01-10_08-00-00_1_5", actors=(*actors, judge), api=RayApi("a", "ok", 1.0, True))
    known = on_ray({n: at("Worker.update", GET) for n in numbers}, *(worker(n, "Worker.update", IDLE) for n in numbers))
    told = verdict(replace(known, ray={"": RayReading((cluster,), named=True)}))
    assert (told.rule, told.word) == ("calls_in_a_ring", word)
    assert ("Judge judge, of another job" in told.headline) == (word == "stalled")


@pytest.mark.parametrize(("state", "word"), [("running", "stalled"), ("idle", "hung")])
def test_so_it_may_beside_a_worker_of_the_run_that_idles(state, word):
    own = RayActor("Worker", "running", method="update", pid=101, id="1", job="01000000")
    judge = RayActor("Judge", state, id="9", name="judge", pid=4711, job="02000000")
    rests = RayActor("Worker", "idle", pid=102, id="2", job="01000000")
    cluster = RayCluster("session_2026-01-10_08-00-00_1_5", actors=(own, rests, judge), api=RayApi("a", "ok", 1.0, True))
    known = on_ray({1: at("Worker.update", GET), 2: idle()}, worker(1, "Worker.update", IDLE), worker(2, "Worker"))
    assert verdict(replace(known, ray={"": RayReading((cluster,), named=True)})).word == word


def test_a_task_whose_job_nobody_tells_is_of_the_run_where_all_drivers_are():
    task = RayActor("piece", "running", pid=109)
    own, other = RayDriver("01000000", DRIVER, "n", "python job.py"), RayDriver("02000000", 5, "n", "python other.py")
    cluster = RayCluster("session_2026-01-10_08-00-00_1_5", actors=(task,), drivers=(own,))
    state = on_ray({1: idle()}, worker(1, "Worker"))

    def actors(known: RayCluster) -> list[RayActor]:
        told = replace(state, ray={"": RayReading((known,))})
        return [actor for found in clusters_of_run(told) for actor in found.actors]

    assert actors(cluster) == [task]
    assert actors(replace(cluster, drivers=(own, other))) == []
    assert actors(replace(cluster, drivers=())) == []


def test_idle_workers_alone_are_no_hang():
    state = on_ray({1: idle(), 2: idle()}, worker(1, "Worker"), worker(2, "Worker"))
    state = replace(state, procs=replace(state.procs, processes=state.procs.processes[1:], ray=()))  # type: ignore[type-var]
    assert verdict(state).word == "stalled"
    assert verdict(state).culprits == ()


def test_a_call_that_runs_on_another_node_is_no_hang_of_those_who_wait_for_it_here():
    far = RayActor("Worker", "running", method="update", ray_pid=9, id="9", job="01000000", host="n2", cpu_percent=97.0)
    cluster = RayCluster("session_2026-01-10_08-00-00_1_5", actors=(far,), api=RayApi("a", "ok", 1.0, True))

    def said(known: RayCluster, silence_s: float) -> Verdict:
        return verdict(replace(on_ray(LEADS, TRAINER, silence_s=silence_s), ray={"": RayReading((known,))}))

    assert said(cluster, 130.0).word == "slow"
    assert said(cluster, 130.0).headline.startswith("Worker pid 9 on n2 is at work in update")
    assert said(cluster, 900.0).word == "stalled", "it may spin"
    assert said(replace(cluster, actors=(replace(far, cpu_percent=0.0),)), 130.0).word == "stalled"
    assert said(replace(cluster, actors=()), 130.0).word == "hung", "nothing runs that they could wait for"


def on_server(timers: int | None, *, silence_s: float = 200.0) -> RunState:
    """A driver waits for an async actor: its main thread idles in Ray's loop, its event loop has set itself so many moments."""
    state = on_ray({1: replace(idle(), timers=timers)}, worker(1, "Server"), silence_s=silence_s)
    waits_at = [watched(pid, waits(pid, kind="futex")) for pid in (101, DRIVER)]
    return replace(state, waits=watch(*waits_at, at=NOW - 5, asked=(101, DRIVER)))


def test_a_coroutine_that_sleeps_is_no_hang_for_as_long_as_a_run_may_rest():
    said = verdict(on_server(3))
    assert said.word == "slow"
    assert said.headline.startswith(
        "Server pid 101 is at work: runs coroutines that wait, one of them until a moment that it has set"
    )
    assert verdict(on_server(0)).word == "hung"
    assert verdict(on_server(None)).word == "hung"
    assert verdict(on_server(3, silence_s=1_000.0)).word == "hung"


def test_a_call_that_waits_for_a_worker_which_ray_starts_is_no_hang_while_that_moves():
    ray = RayApi("127.0.0.1:8265", "ok", NOW - 60, True, NOW - 60, NOW - 1, version="2.60.0")

    def word(shown: dict[int, Thread], starting_at: float | None, *processes: Process) -> str:
        name = SESSION.rpartition("/")[2]
        cluster = RayCluster(name, api=ray, starting_at=starting_at)
        return verdict(replace(on_ray(shown, *processes), ray={"": RayReading((cluster,))})).word

    reserve = worker(1, "Worker")
    assert word({1: idle()}, NOW - 5, reserve) == "slow"
    assert word({1: idle()}, None, reserve) == "hung"
    assert word({1: idle()}, NOW - 500, reserve) == "hung"
    assert word({1: LOCKED}, NOW - 5, worker(1, "Worker.update", IDLE)) == "hung", "one runs, and stands"


def test_an_event_loop_with_a_clock_is_beside_the_point_where_another_worker_stands_at_a_call():
    shown = {**LEADS, 1: replace(idle(), timers=3), 2: LOCKED}
    state = on_ray(shown, TRAINER, worker(1, "Server"), worker(2, "Worker.update", IDLE))
    waits_at = [watched(pid, waits(pid, kind="futex")) for pid in (100, 101, 102, DRIVER)]
    state = replace(state, waits=watch(*waits_at, at=NOW - 5, asked=(100, 101, 102, DRIVER)))
    assert (verdict(state).word, accused(state)) == ("hung", [102])


def test_an_actor_that_serves_for_ever_is_not_blamed_for_ranks_that_wait_for_a_rank():
    ranks = [replace(worker(n, "Worker.update", IDLE), role="rank", rank=n, world=3) for n in (1, 2)]
    late = replace(worker(3, "Worker.update", IDLE), role="rank", rank=0, world=3)
    shown = {**LEADS, 1: ALL_REDUCE, 2: ALL_REDUCE, 3: LOCKED, 5: at("Helper.ask")}
    state = on_ray(shown, TRAINER, *ranks, late, worker(5, "Helper.ask", IDLE))
    assert [culprit.rank for culprit in verdict(state).culprits] == [0]
    waits = on_ray({**shown, 3: at("Worker.update", GET)}, TRAINER, *ranks, late, worker(5, "Helper.ask", IDLE))
    assert accused(waits) == [105], "it runs the call for which that rank waits"


QUEUE_PY = "/venv/lib/python3.11/site-packages/ray/util/queue.py"


def at_queue(method: str, call: str) -> Thread:
    return at(call, GET, Frame(method, QUEUE_PY, 111))


def test_who_waits_for_room_in_a_queue_of_ray_is_named_and_not_the_actor_that_keeps_its_items():
    keeper = worker(5, "_QueueActor.put")
    ones = [worker(n, "Worker.update", IDLE) for n in (1, 2)]
    state = on_ray({1: at_queue("put", "Worker.update"), 2: at_queue("put", "Worker.update"), 5: idle()}, *ones, keeper)
    said = verdict(state)
    assert said.word == "hung"
    assert said.headline == "2 processes wait for room in a queue of Ray that nobody empties, and no call runs."
    assert accused(state) == [101, 102]


def test_who_waits_for_an_item_that_nobody_puts_is_named():
    keeper = worker(5, "_QueueActor.get")
    state = on_ray({1: at_queue("get", "Worker.update"), 5: idle()}, worker(1, "Worker.update", IDLE), keeper)
    assert verdict(state).headline.startswith("Worker pid 101 waits for an item in a queue of Ray that nobody fills")
    assert accused(state) == [101]


def test_who_fills_a_queue_and_works_is_why_another_waits_for_an_item():
    busy = worker(2, "Worker.update", BUSY)
    shown = {1: at_queue("get", "Trainer.run"), 2: at("Worker.update", state="R"), 5: idle()}
    assert verdict(on_ray(shown, worker(1, "Trainer.run", IDLE), busy, worker(5, "_QueueActor.get"))).word == "slow"


def test_the_controller_of_ray_serve_awaits_for_ever_and_the_replica_that_awaits_is_named():
    state = on_ray(
        {1: idle(), 2: idle()}, worker(1, "ServeController.listen_for_change"), worker(2, "ServeReplica:app:Judge.ask")
    )
    assert accused(state) == [102]


def test_of_many_workers_the_one_that_may_loop_while_others_wait_for_it_is_possible():
    shown = {**LEADS, 1: idle(), 2: at("Worker.update", state="R"), 3: idle()}
    busy = worker(2, "Worker.update", replace(BUSY, main_cpu_part=0.95))
    said = verdict(on_ray(shown, TRAINER, worker(1, "Worker"), busy, worker(3, "Worker")))
    assert (said.word, [(culprit.pid, culprit.confidence) for culprit in said.culprits]) == ("slow", [(102, "possible")])


@pytest.mark.parametrize(
    ("shown", "recent", "word"), [(at("Worker.update", state="R"), BUSY, "slow"), (idle(), POLLS, "waiting")]
)
def test_placement_groups_that_wait_are_a_queue_while_workers_of_the_run_work(shown, recent, word):
    nodes = (RayNode("n", "n1", alive=True, used={"CPU": 2.0}, total={"CPU": 2.0}),)
    group = PlacementGroup("1932bade", "", infeasible=False, bundles=(({"CPU": 1.0}, 1),))
    cluster = RayCluster(SESSION.rpartition("/")[2], nodes=nodes, groups=(group,), api=RayApi("a", "ok", 1.0, True))
    state = on_ray({1: shown}, worker(1, "Worker.update" if word == "slow" else "Worker", recent))
    assert verdict(replace(state, ray={"": RayReading((cluster,))})).word == word


def test_a_task_that_finds_nothing_free_waits_for_resources_where_no_call_runs():
    nodes = (RayNode("n", "n1", alive=True, used={"CPU": 2.0}, total={"CPU": 2.0}),)
    holders = tuple(RayActor("Env", "idle", pid=100 + n, id=str(n), job="01000000", resources={"CPU": 1.0}) for n in (1, 2))
    asks = (Demand({"CPU": 1.0}, 1),)
    api = RayApi("a", "ok", 1.0, True)
    cluster = RayCluster(SESSION.rpartition("/")[2], nodes=nodes, actors=holders, demand=asks, api=api)
    envs = (worker(1, "Env"), worker(2, "Env"))
    said = verdict(replace(on_ray({1: idle(), 2: idle()}, *envs), ray={"": RayReading((cluster,))}))
    assert (said.word, said.kind) == ("waiting", "resources")
    assert said.headline == "task waits for CPU 1: CPU: 0 free on the freest node."
    assert "Env ×2 keep CPU 2 between calls" in [fact.text for fact in said.evidence]
    runs = on_ray({1: idle(), 2: LOCKED}, envs[0], worker(2, "Worker.update", IDLE))
    assert verdict(replace(runs, ray={"": RayReading((cluster,))})).word == "hung", "what runs may free it, and stands"


def test_a_rank_whose_actor_lives_on_another_node_is_not_gone():
    ranks = [
        replace(worker(n, title, recent), role="rank", rank=n, world=4)
        for n, title, recent in ((0, "Worker", POLLS), (2, "Worker.update", IDLE))
    ]
    far = tuple(
        RayActor("Worker", "running", method="update", ray_pid=9 + n, id=str(n), rank=n, host="n2", job="01000000")
        for n in (1, 3)
    )
    here = tuple(RayActor("Worker", "idle", pid=100 + n, id=str(n), rank=n, job="01000000") for n in (0, 2))
    cluster = RayCluster(SESSION.rpartition("/")[2], actors=(*here, *far), api=RayApi("a", "ok", 1.0, True))
    state = on_ray({0: idle(), 2: LOCKED}, *ranks)
    told = verdict(replace(state, ray={"": RayReading((cluster,))}))
    assert (told.word, [culprit.rank for culprit in told.culprits]) == ("hung", [2]), told.headline
    assert [culprit.rank for culprit in verdict(state).culprits] == [1], "nobody knows of another node"
