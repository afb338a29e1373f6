"""The output of workers on other nodes, read over HTTP: only what is new, few requests, and in words where it cannot be had."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from hangtop.logs.catalog.load import load
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.discover import FoundLog
from hangtop.probe.log.tail import Appended, Opened
from hangtop.probe.log.tracked_log import TrackedLog
from hangtop.probe.ray import worker_output
from hangtop.probe.ray.dashboard.http import Dashboard
from hangtop.probe.ray.dashboard.node_logs import (
    LATE_S,
    MOST_LINES,
    PART_BYTES,
    SOON_S,
    THROUGH_HEAD_S,
    NodeLogs,
    RemoteLog,
    WorkerPlace,
)
from hangtop.probe.ray.ray_source import RaySource
from hangtop.probe.ray.workers_source import MOST_FILES_A_LOOK, RayWorkerSource
from hangtop.probe.source import open_source
from hangtop.records.ask import ActorLogAsk, RemoteStacksAsk, RemoteWorker
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from hangtop.system.files.network_filesystems import FileSystem
from tests.fakes.processes import PATIENCE_S
from tests.fakes.ray_dashboard import SESSION, FakeDashboard, node_id

NOW = 1_768_125_000.0


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine is not taken for a late dashboard."""
    monkeypatch.setattr(Dashboard.__init__, "__defaults__", (PATIENCE_S,))
    monkeypatch.setattr(worker_output, "DEADLINE_S", PATIENCE_S)


@pytest.fixture
def fake() -> Iterator[FakeDashboard]:
    dashboard = FakeDashboard(2, 2, agents=True)
    yield dashboard
    dashboard.close()


def place(fake: FakeDashboard, *, agent: bool = True) -> WorkerPlace:
    folder = f"/tmp/ray/{SESSION}"
    return WorkerPlace(node_id(1), "n1", 5000, "b" * 56, "01000000", folder, fake.address if agent else "127.0.0.1:1")


@pytest.fixture
def logs(fake) -> Iterator[NodeLogs]:
    node_logs = NodeLogs(fake.address, lambda: None)
    yield node_logs
    node_logs.close()


@pytest.fixture
def log(fake, logs) -> RemoteLog:
    return RemoteLog(place(fake), "err", logs)


@pytest.fixture
def log_of_shut_agent(fake, logs) -> RemoteLog:
    return RemoteLog(place(fake, agent=False), "err", logs)


def name(log: RemoteLog) -> str:
    return log.path.rpartition("/")[2]


def text(log: RemoteLog) -> bytes:
    return log.pread(1 << 20, log.start)


def test_only_what_is_new_travels(fake, log):
    fake.files[name(log)] = b"step 1\n" * 10
    log.fetch(NOW)
    assert text(log) == b"step 1\n" * 10
    fake.files[name(log)] += b"step 2\n"
    log.fetch(NOW + 5)
    assert text(log).endswith(b"step 1\nstep 2\n")
    assert fake.sent_bytes == 77
    log.fetch(NOW + 10)
    assert fake.sent_bytes == 77, "nothing new, nothing sent"


def test_the_age_of_a_file_is_told_by_the_clock_of_its_node(fake, log):
    fake.files[name(log)], fake.written_at = b"step 1\n", time.time() - 100
    log.fetch(NOW)
    assert log.modified_at == pytest.approx(NOW - 100, abs=2)


def test_of_a_big_file_only_the_end_is_read_from_a_line_start_on(fake, log):
    fake.files[name(log)] = b"".join(b"a line of output, number %06d\n" % number for number in range(20_000))
    log.fetch(NOW)
    assert fake.sent_bytes == PART_BYTES
    assert text(log).startswith(b"a line of output")
    assert text(log).endswith(b"number 019999\n")


def test_a_bar_that_is_one_endless_line_is_read_at_its_end(fake, log):
    fake.files[name(log)] = b"".join(b"\rtrain: %d/99999 [00:01<00:02, 1.0it/s]" % step for step in range(50_000))
    log.fetch(NOW)
    assert text(log).endswith(b"train: 49999/99999 [00:01<00:02, 1.0it/s]")
    assert len(text(log)) <= PART_BYTES


def test_a_worker_that_prints_faster_than_it_is_read_loses_what_is_between(fake, log):
    fake.files[name(log)] = b"first\n"
    log.fetch(NOW)
    fake.files[name(log)] += b"step 7/100 and more\n" * PART_BYTES + b"last\n"
    log.fetch(NOW + 1)
    assert log.due_at == NOW + 1, "at once: there is more"
    ends = log.end
    log.fetch(NOW + 1)
    newest = log.pread(PART_BYTES, ends)
    assert newest.startswith(b"\nstep 7/100 and more\n"), "a line of its own, and no part of one"
    assert newest.endswith(b"\nlast\n")
    assert fake.sent_bytes <= 6 + 2 * PART_BYTES


def test_a_file_that_was_cut_is_read_anew(fake, log):
    fake.files[name(log)] = b"step 1\n" * 100
    log.fetch(NOW)
    fake.files[name(log)] = b"anew\n"
    log.fetch(NOW + 5)
    log.fetch(NOW + 5)
    assert text(log).endswith(b"\nanew\n")


def test_a_file_that_does_not_grow_is_asked_for_less_and_less(fake, log):
    fake.files[name(log)] = b"step 1\n"
    at, pauses = NOW, []
    for _ in range(8):
        log.fetch(at)
        pauses.append(log.due_at - at)
        at = log.due_at
    assert pauses[:3] == [SOON_S, 2 * SOON_S, 4 * SOON_S]
    assert pauses[-1] == LATE_S
    fake.files[name(log)] += b"step 2\n"
    log.fetch(at)
    assert log.due_at == at + SOON_S


def test_where_the_agent_cannot_be_reached_the_dashboard_gives_the_last_lines(fake, log_of_shut_agent):
    log = log_of_shut_agent
    fake.files[name(log)] = b"".join(b"step %d\n" % step for step in range(200))
    log.fetch(NOW)
    assert text(log).count(b"\n") == MOST_LINES
    assert log.due_at == NOW + THROUGH_HEAD_S, "the head has work with it"
    fake.files[name(log)] += b"step 200\n"
    log.fetch(NOW + 20)
    assert text(log).count(b"step 199\n") == 1, "what was there before is not there twice"
    assert text(log).endswith(b"step 200\n")


def test_an_endless_line_through_the_dashboard_is_said_to_be_too_long_and_its_beginning_is_not_taken_for_now(
    fake, log_of_shut_agent
):
    log = log_of_shut_agent
    fake.files[name(log)] = b"".join(b"\rtrain: %d/99999" % step for step in range(50_000))
    log.fetch(NOW)
    assert text(log) == b""
    assert log.problem == f"its last {MOST_LINES} lines are more than 256 kB"


def test_a_file_that_is_not_there_yet_is_no_trouble_for_long(fake, log):
    log.fetch(NOW)
    assert log.problem == "not written yet, or removed"
    fake.files[name(log)] = b"step 1\n"
    log.fetch(log.due_at)
    assert (log.problem, text(log)) == (None, b"step 1\n")


def test_what_was_there_at_first_is_old_and_what_comes_then_is_of_now(fake, log):
    assert list(log.poll(NOW)) == []
    fake.files[name(log)] = b"step 1\n"
    log.fetch(NOW)
    _, first = log.poll(NOW)
    assert first == Appended(0, b"step 1\n", live=False)
    fake.files[name(log)] += b"step 2\n"
    log.fetch(NOW + 4)
    assert list(log.poll(NOW + 4)) == [Appended(7, b"step 2\n", live=True)]


def test_what_was_dropped_does_not_hold_up_the_reading_of_the_rest(fake, log):
    tracked = TrackedLog(0, FoundLog(log.path), log, LiteralIndex(load()), FileSystem())
    fake.files[name(log)] = b""
    for at in (NOW, NOW + 5, NOW + 10):
        fake.files[name(log)] += b"a line of output\n" * 900
        log.fetch(at)
        tracked.poll(at)
    assert log.start > 0
    tracked.learn(LiteralIndex(load()), FoundLog(log.path, 3))
    while tracked.catch_up():
        pass
    assert tracked.caught_up
    log.close()
    assert [type(event) for event in log.poll(NOW + 15)] == [Opened, Appended], "it can be followed again"


def look(spec: WatchSpec, seconds: float) -> RunState:
    """All sources together, for so long of their own time."""
    context = ProbeContext(spec)
    sources = {"ray": RaySource(context), "rayworkers": RayWorkerSource(context), "log": open_source("log", context)}
    state, at = RunState(), time.time()
    for step in range(int(seconds / 2)):
        for source in (*sources, "log"):
            for value in sources[source].read(at + 2 * step):
                state = fold(state, Reading(source, "here", at, value))
    for source in ("ray", "log"):
        sources[source].close()
    return state


@pytest.fixture
def fleet() -> Iterator[FakeDashboard]:
    """64 ranks on 8 nodes, and what each of them wrote: all are at step 50, rank 3 at 40."""
    dashboard = FakeDashboard(8, 8, agents=True)
    for row in dashboard.actors.values():
        worker, pid, rank = row["address"]["workerId"], row["pid"], int(row["actorId"], 16)
        dashboard.files[f"worker-{worker}-01000000-{pid}.err"] = b"step %d/100 loss=0.5\n" % (40 if rank == 3 else 50)
        dashboard.files[f"worker-{worker}-01000000-{pid}.out"] = b""
    yield dashboard
    dashboard.close()


@pytest.fixture
def driver_log(tmp_path) -> str:
    log = tmp_path / "train.log"
    log.write_text("(TaskRunner pid=1) step:1 - actor/pg_loss:0.126 - perf/throughput:811.7 - timing_s/step:2.0\n")
    return str(log)


def test_the_rank_that_stands_out_is_read_first_and_how_many_are_still_to_come_is_told(fleet, driver_log):
    page = f"/nodes/{node_id(4)}"
    told = json.loads(fleet.bodies[page])
    told["data"]["detail"]["workers"][5]["cmdline"] = ["ray::WorkerDict"]
    fleet.bodies[page] = json.dumps(told).encode()
    state = look(WatchSpec(logs=(driver_log,), ray=fleet.address), 12)
    reading = next(iter(state.ray.values()))
    assert state.ranks[4 * 8 + 5].step == 50
    assert 63 not in state.ranks
    assert reading.far_logs == 128
    assert 0 < reading.far_logs_read < 128


def test_each_rank_on_another_node_has_the_step_of_its_own_file(fleet, driver_log):
    fake, looks = fleet, 24
    state = look(WatchSpec(logs=(driver_log,), ray=fake.address), 2 * looks)
    steps = {rank.rank: rank.step for rank in state.ranks.values()}
    assert steps == {rank: 40 if rank == 3 else 50 for rank in range(64)}
    assert fake.asked["/logs/"] <= looks * MOST_FILES_A_LOOK
    assert fake.sent_bytes < 64 * 30, "each file was read once"


def test_the_page_of_an_actor_asks_for_both_of_its_files_and_gets_them_clean(fake):
    row = next(iter(fake.actors.values()))
    stem = f"worker-{row['address']['workerId']}-01000000-{row['pid']}"
    fake.files[f"{stem}.out"] = b":job_id:01000000\n:actor_name:WorkerDict\nfine \x1b[31mred\x1b]0;title\x07 [rank0]\n"
    bar = b'{"__magic_token__": "__ray_tqdm_magic_token__", "x": 2, "pos": 0, "desc": "train", "total": 9, "unit": "it"}\n'
    fake.files[f"{stem}.err"] = bar + b"\rtest: 1/9\rtest: 2/9"
    context = ProbeContext(WatchSpec(logs=("none.log",), ray=fake.address))
    ray, workers = RaySource(context), RayWorkerSource(context)
    list(ray.read(time.time()))
    (said,) = workers.answer(ActorLogAsk(7, SESSION, row["actorId"]), time.time())
    assert (said.ask, said.problem) == (7, "")
    assert {output.path.rpartition(".")[2]: output.lines for output in said.outputs} == {
        "out": ("fine red [rank0]",),
        "err": ("train: 2/9 it", "test: 2/9"),
    }
    (said,) = workers.answer(ActorLogAsk(8, SESSION, "no such actor"), time.time())
    assert said.problem == "nobody tells on which node it runs"
    (said,) = workers.answer(ActorLogAsk(9, "another session", "x"), time.time())
    assert said.problem.startswith("its cluster is not known here")
    ray.close()


def stacks(fake: FakeDashboard, *, task: bool = False) -> dict[int | None, str | None]:
    """Problem by rank."""
    context = ProbeContext(WatchSpec(logs=("none.log",), ray=fake.address))
    ray, workers = RaySource(context), RayWorkerSource(context)
    list(ray.read(time.time()))
    ask = RemoteStacksAsk(7, SESSION, tuple(RemoteWorker(node_id(1), 5000 + rank, rank, "n1") for rank in range(2)), task)
    parts = list(workers.answer(ask, time.time()))
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    ray.close()
    return {stack.rank: stack.problem for part in parts for stack in part.stacks}


def test_stacks_that_a_dashboard_may_not_give_are_refused_in_words_and_with_one_request(fake):
    assert set(stacks(fake).values()) == {
        "the dashboard does not permit profiling, so it gives no stacks of workers on other nodes"
    }
    assert fake.asked["/worker/traceback"] == 0


def test_stacks_come_from_the_dashboard_and_each_that_fails_says_why(fake):
    fake.profiling = True
    fake.dumps[5000] = 'Process 5000: ray::WorkerDict\n\nThread 5000 (idle): "MainThread"\n    wait (threading.py:327)\n'
    assert stacks(fake) == {0: None, 1: "Failed to execute: no such process"}


def test_no_task_is_sent_to_a_cluster_that_has_no_raylet_here(fake):
    assert set(stacks(fake, task=True).values()) == {
        "no raylet of this cluster runs on this machine, so no task can be sent: run hangtop on one of its nodes"
    }
