"""Stacks of workers on other nodes: read from a dashboard's text, and folded into the same classes as those of this machine."""

from __future__ import annotations

from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.diagnosis.members.remote_stacks import remote_stacks_ask, same_files, with_remote_stacks
from hangtop.monitor.headless import RemoteStackRequester
from hangtop.probe.ray.dashboard.remote_worker_stacks import threads_of
from hangtop.records.log import LogFile, LogReading
from hangtop.records.ray.cluster import RayActor, RayCluster, RayReading
from hangtop.records.ray.remote_workers import RemoteStacksReading, add_remote
from hangtop.records.reading import Reading
from hangtop.records.stack import Frame, Stack, StacksReading, Thread
from hangtop.render.stack_rows import StackView, far_rows, summary
from hangtop.stacks.activity import activity_of
from hangtop.stacks.stack_classes import classes
from hangtop.state.run_state import RunState, fold

NOW = 1_768_125_000.0
DUMP = """Process 5003: ray::WorkerDict.actor_rollout_update_actor
Python v3.11.7 (/opt/ray/bin/python3.11)

Thread 5003 (idle): "MainThread"
    wait (threading.py:327)
    wait (threading.py:629)
    load_shard (train/shards.py:38)
    actor_rollout_update_actor (fleet.py:16)
    main_loop (ray/_private/worker.py:1069)
    <module> (ray/_private/workers/default_worker.py:323)
Thread 5010 (active+gil): "compute \x1b[31m"
    step (fleet.py:60)
    __clone3 (libc.so.6)
Thread 0x7F2A (idle)
    poll
"""
HERE = (
    Frame("wait", "/usr/lib/python3.11/threading.py", 327),
    Frame("wait", "/usr/lib/python3.11/threading.py", 629),
    Frame("load_shard", "/home/u/train/shards.py", 38),
    Frame("actor_rollout_update_actor", "/home/u/fleet.py", 16),
    Frame("main_loop", "/home/u/venv/lib/python3.11/site-packages/ray/_private/worker.py", 1069),
    Frame("<module>", "/home/u/venv/lib/python3.11/site-packages/ray/_private/workers/default_worker.py", 323),
)


def local(pid: int) -> Stack:
    return Stack(pid, NOW, (Thread("MainThread", HERE, tid=pid, state="S"),), rank=pid - 100)


def far(rank: int, **known: object) -> Stack:
    return Stack(5003, NOW, threads_of(DUMP)[:1], rank=rank, host="n2", **known)  # type: ignore[arg-type]


def ranks(*places: int | None) -> RunState:
    """Rank n has this pid here, or with `None` its process is on another node."""
    actors = tuple(
        RayActor(
            "WorkerDict", "running", id=f"{n}", rank=n, pid=pid, ray_pid=pid or 5003, node="h" if pid else "f" * 56, host="n2"
        )
        for n, pid in enumerate(places)
    )
    log = LogReading((LogFile("train.log", "ok"),), profiles=("verl", "ray"), fresh=True)
    state = fold(RunState(), Reading("log", "n1", NOW, log))
    return fold(
        state, Reading("ray", "n1", NOW, RayReading((RayCluster("s", actors=actors, actors_total=len(actors)),), named=True))
    )


def test_the_text_of_a_dashboard_becomes_threads_again():
    main, computes, _ = threads_of(DUMP)
    assert (main.name, main.tid, main.state) == ("MainThread", 5003, "S")
    assert [(frame.function, frame.line) for frame in main.frames[2:4]] == [
        ("load_shard", 38),
        ("actor_rollout_update_actor", 16),
    ]
    assert (computes.name, computes.state, computes.owns_gil) == ("compute ", "R", True)
    assert computes.frames[0] == Frame("step", "fleet.py", 60)
    assert threads_of("Failed to execute: py-spy is not installed") == ()


def test_a_text_that_is_made_to_be_slow_to_read_is_read_at_once():
    assert threads_of(f"Thread 1 (idle)\n{' ' * 1_000_000}x") == (Thread("thread 1", (), 1, state="S"),)
    assert threads_of(f"Thread 1 (idle)\n    {'f (' * 300_000}x") == (Thread("thread 1", (), 1, state="S"),)
    assert threads_of(f"Thread {'1' * 10_000} (idle)\n") == ()


def test_a_shortened_name_still_tells_whose_code_it_is():
    known = activity_of(far(3))
    assert known is not None
    assert known.own.name == "load_shard"
    assert known.where == "shards.py:38"


def test_workers_of_other_nodes_fold_into_the_classes_of_those_here():
    (stack_class,) = classes(same_files((local(100), local(101), far(2), far(3))))
    assert stack_class.ranks == (0, 1, 2, 3)
    assert stack_class.frames[3].file == "/home/u/fleet.py"


def test_the_same_library_in_another_folder_is_the_same_place():
    frames = tuple(Frame(f.function, f.file.replace("/home/u/venv", "/opt/ray").replace("/usr/", "/opt/"), f.line) for f in HERE)
    there = Stack(5003, NOW, (Thread("MainThread", frames, tid=5003, state="S"),), rank=2, host="n2")
    assert len(classes(same_files((local(100), there)))) == 1


def test_those_on_other_nodes_are_asked_for_and_no_others():
    ask = remote_stacks_ask(ranks(100, None, None), 7)
    assert ask is not None
    assert (ask.session, ask.task) == ("s", False)
    assert [(worker.rank, worker.pid, worker.node) for worker in ask.workers] == [(1, 5003, "f" * 56), (2, 5003, "f" * 56)]
    assert remote_stacks_ask(ranks(100, 101), 7) is None


def test_a_pid_of_another_node_is_not_taken_for_the_same_pid_here():
    state = ranks(5003, None)
    state = fold(state, Reading("rayworkers", "n1", NOW, RemoteStacksReading(7, NOW, 1, (far(1),), done=True)))
    look = StacksReading(6, stacks=(Stack(5003, NOW, (Thread("MainThread", HERE, state="S"),)),), started_at=NOW, done=True)
    _, stacks = with_remote_stacks(state, (look,))
    assert [(stack.rank, stack.host) for stack in stacks] == [(0, None), (1, "n2")]


def test_a_rank_on_another_node_does_what_its_stack_there_says():
    state = fold(ranks(None, None), Reading("rayworkers", "n1", NOW, RemoteStacksReading(7, NOW, 1, (far(1),), done=True)))
    doing_now = {rank.rank: rank.doing for rank in join_ranks(state)}
    assert doing_now[0] is None
    assert "load_shard" in (doing_now[1] or "")


def test_stacks_of_other_nodes_alone_are_a_look_too():
    state = fold(ranks(None, None), Reading("rayworkers", "n1", NOW, RemoteStacksReading(7, NOW, 2, (far(0), far(1)), done=True)))
    looks, stacks = with_remote_stacks(state, ())
    assert "1 class of 2 ranks, 2 on other nodes" in summary(StackView(looks, stacks))


def test_parts_of_one_answer_add_up_and_another_answer_starts_over():
    first = RemoteStacksReading(7, NOW, 2)
    whole = add_remote(
        add_remote(first, RemoteStacksReading(7, NOW + 1, 2, (far(0),))), RemoteStacksReading(7, NOW + 2, 2, (far(1),), done=True)
    )
    assert (len(whole.stacks), whole.done, whole.at) == (2, True, NOW)
    assert add_remote(whole, RemoteStacksReading(8, NOW + 9, 2)).stacks == ()


def test_a_task_in_the_cluster_is_offered_in_words_and_only_where_the_dashboard_gave_nothing():
    refused = RemoteStacksReading(7, NOW, 2, (far(0, problem="no"), far(1, problem="no")), done=True)
    (offer, _) = far_rows(refused, 140, may_ask=True)
    assert "".join(words for words, _ in offer).startswith("x  runs one short task on each of 1 node, in your cluster")
    assert far_rows(refused, 140, may_ask=False) == []
    assert far_rows(RemoteStacksReading(7, NOW, 1, (far(0),), done=True), 140, may_ask=True) == []
    assert far_rows(RemoteStacksReading(7, NOW, 1, (far(0, problem="no"),), task=True, done=True), 140, may_ask=True) == []


class Asked:
    """A feed that only keeps what it is asked."""

    def __init__(self) -> None:
        self.asks: list[object] = []

    def ask(self, ask: object) -> None:
        self.asks.append(ask)


def test_the_command_asks_once_and_waits_until_all_of_it_is_there():
    feed = Asked()
    stacks, state = RemoteStackRequester(feed), ranks(100, None)  # type: ignore[arg-type]
    assert not stacks.told(state)
    assert not stacks.told(state)
    assert len(feed.asks) == 1
    state = fold(state, Reading("rayworkers", "n1", NOW, RemoteStacksReading(1, NOW, 1, (far(1),))))
    assert not stacks.told(state), "there is more to come"
    assert stacks.told(fold(state, Reading("rayworkers", "n1", NOW, RemoteStacksReading(1, NOW, 1, done=True))))


def test_the_command_does_not_wait_for_other_nodes_of_a_run_that_has_none():
    feed = Asked()
    assert RemoteStackRequester(feed).told(ranks(100, 101))  # type: ignore[arg-type]
    assert not feed.asks
    log = LogReading((LogFile("train.log", "ok"),), profiles=("torchrun",), fresh=True)
    assert RemoteStackRequester(feed).told(fold(RunState(), Reading("log", "n1", NOW, log)))  # type: ignore[arg-type]
    assert not RemoteStackRequester(feed).told(RunState()), "nothing was read yet"  # type: ignore[arg-type]
