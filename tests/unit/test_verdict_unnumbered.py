"""Who waits for whom where no environment numbers the processes: who is a member, and which rank it is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.monitor.stack_requests import satisfied
from hangtop.records.log import RankLog
from hangtop.records.process import Process, RecentActivity
from hangtop.records.stack import Excerpt, Frame, Stack, Thread
from hangtop.stacks.process_groups import entries, functions, meet, watches_children
from hangtop.state.run_state import RunState
from tests.fakes.members import BUSY, CONNECTION, IDLE, NOW, SPEC, THREADING, USER, process, run, thread
from tests.fakes.waited import OUTSIDE, at_pipe, waits, watch, watched

MULTIPROCESSING = "/usr/lib/python3.11/multiprocessing/process.py"
PARENT = 4
"""`run` gives number N the pid 100 + N."""


def started(*frames: Frame, main: str = "rank_main", wait: str = "socket") -> Thread:
    inner = (*frames, Frame(main, USER, 90), Frame("run", MULTIPROCESSING, 108), Frame("_bootstrap", MULTIPROCESSING, 314))
    return Thread("MainThread", inner, state="S", wait=wait)  # type: ignore[arg-type]


WAITS = started(Frame("exactly", USER, 30), Frame("reduce", USER, 40))
HUB = started(Frame("exactly", USER, 30), Frame("<genexpr>", USER, 45), Frame("reduce", USER, 45))
STUCK = started(Frame("load_shard", USER, 61), wait="lock")
JOINS = thread(
    Frame("poll", "/usr/lib/python3.11/multiprocessing/popen_fork.py", 27), Frame("join", MULTIPROCESSING, 149), wait="child"
)


def nameless(number: int, recent: RecentActivity = IDLE, **more: object) -> Process:
    known = replace(process(number, recent), rank=None, world=None, role="other", ppid=100 + PARENT, start_ticks=7)
    return replace(known, **more)  # type: ignore[arg-type]


def family(threads: dict[int, Thread], parent: Process | None = None, ranks: int | None = None) -> RunState:
    """A parent and its children; the log numbers so many ranks."""
    children = tuple(nameless(number) for number in threads if number != PARENT)
    top = parent or nameless(PARENT, ppid=1)
    state = run(threads, (top, *children))
    return replace(state, ranks={number: RankLog(number, step=5) for number in range(ranks or 0)})


def test_children_that_wait_for_each_other_are_ranks_by_the_order_of_their_start_and_that_is_said() -> None:
    said = diagnose(family({0: HUB, 1: WAITS, 2: STUCK, 3: WAITS, PARENT: JOINS}), SPEC, NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("hung", [2])
    assert said.culprits[0].why[-1] == "numbered by the order of start: nothing names its rank"


def test_a_manager_that_keeps_books_for_the_ranks_is_none_of_them() -> None:
    managers = "/usr/lib/python3.11/multiprocessing/managers.py"
    books = started(Frame("accept", managers, 170), Frame("serve_forever", managers, 178), main="unused", wait="socket")
    books = replace(books, frames=(*books.frames[:2], Frame("_run_server", managers, 600), *books.frames[3:]))
    said = diagnose(family({0: books, 1: WAITS, 2: WAITS, 3: STUCK, PARENT: JOINS}), SPEC, NOW)
    assert [culprit.rank for culprit in said.culprits] == [2]


def test_the_parent_that_runs_the_program_of_its_numbered_children_is_the_rank_that_is_missing() -> None:
    """It started the others with their numbers, and has none in its environment."""
    polls = Thread("MainThread", (Frame("until_all_are_here", USER, 14), Frame("<module>", USER, 19)), state="S", wait="sleep")
    stuck = Thread("MainThread", (Frame("save", USER, 12), Frame("<module>", USER, 19)), state="S", wait="pipe")
    often = replace(IDLE, switches_s=10.0)
    parent = replace(nameless(PARENT, often, ppid=1), role="launcher", command="/usr/bin/python -u train.py")
    children = tuple(process(number, often, ppid=parent.pid, command="python -u train.py") for number in (1, 2, 3))
    asks = Excerpt(USER, 9, ("while not all_are_here():",), at=14, loop="asks")

    def said_of(above: Process, *sources: Excerpt) -> tuple[str | None, list[int | None]]:
        state = run({1: polls, 2: stuck, 3: polls, PARENT: polls}, (above, *children))
        looks = tuple(replace(look, excerpts=sources) for look in state.looks)
        verdict = diagnose(replace(state, ranks={}, looks=looks), SPEC, NOW)
        return verdict.rule, [culprit.rank for culprit in verdict.culprits]

    assert said_of(parent, asks) == ("straggler", [2])
    assert said_of(replace(parent, command="python -u launch.py"), asks) == ("vanished", [0])
    assert said_of(parent, replace(asks, loop="rounds")) == ("vanished", [0]), "it looks after its children alone"
    assert parent.pid in take_snapshot(run({1: polls}, (parent, *children)), SPEC, NOW).pids, "its stack tells"


def test_who_waits_for_a_pool_that_has_nothing_to_do_is_to_blame_for_the_lost_task() -> None:
    pool = "/usr/lib/python3.11/multiprocessing/pool.py"
    asks = Frame("get", "/usr/lib/python3.11/multiprocessing/queues.py", 365)
    idle = thread(asks, Frame("worker", pool, 114), Frame("run", MULTIPROCESSING, 108), Frame("_bootstrap", MULTIPROCESSING, 314))
    lost = thread(Frame("wait", THREADING, 320), Frame("get", pool, 767), Frame("map", pool, 367))
    said = diagnose(family({0: idle, 1: idle, PARENT: lost}), SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [100 + PARENT])
    assert "waits for a child process" in said.headline


def test_who_waits_for_a_program_that_it_runs_alone_is_no_launcher_and_the_program_is_named() -> None:
    uploads = thread(Frame("wait", "/usr/lib/python3.11/subprocess.py", 1264), Frame("upload", USER, 33), wait="child")
    state = family({PARENT: uploads})
    assert state.procs is not None
    tool = nameless(
        0, name="aws", command="aws s3 cp ckpt.pt s3://bucket/ckpt.pt --endpoint-url https://example.org/with/a/long/path"
    )
    said = diagnose(replace(state, procs=replace(state.procs, processes=(*state.procs.processes, tool))), SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [100 + PARENT])
    assert "waits for `aws s3 cp ckpt.pt s3://bucket/ckpt.pt --endpoint-url …` in upload" in said.headline


@pytest.mark.parametrize(
    "helper",
    [
        pytest.param(None, id="a program without a Python stack"),
        pytest.param(started(Frame("watch", USER, 70), main="watch", wait="sleep"), id="a monitor that sleeps"),
    ],
)
def test_who_waits_for_a_thread_of_its_own_is_to_blame_and_not_what_stands_by(helper: Thread | None) -> None:
    waits = thread(Frame("get", "/usr/lib/python3.11/queue.py", 171))
    state = family({0: helper, PARENT: waits} if helper else {PARENT: waits})
    assert state.procs is not None
    if helper is None:
        state = replace(state, procs=replace(state.procs, processes=(*state.procs.processes, nameless(0, name="tracker"))))
    said = diagnose(state, SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [100 + PARENT])


def test_a_parent_that_works_is_no_launcher_and_its_children_that_wait_are_no_hang() -> None:
    computes = thread(Frame("train_step", USER, 70), state="R")
    said = diagnose(family({0: WAITS, 1: WAITS, 2: WAITS, PARENT: computes}, nameless(PARENT, BUSY, ppid=1)), SPEC, NOW)
    assert said.word == "slow"


def test_a_parent_that_forked_one_less_than_the_log_counts_is_rank_0() -> None:
    waits = thread(Frame("exactly", USER, 30), Frame("reduce", USER, 40), wait="socket")
    locked = thread(Frame("load_shard", USER, 61), wait="file")
    said = diagnose(family({0: waits, 1: waits, 2: waits, PARENT: locked}, ranks=4), SPEC, NOW)
    assert (said.word, [(culprit.rank, culprit.pid) for culprit in said.culprits]) == ("hung", [(0, 100 + PARENT)])


def test_a_wait_for_the_network_is_judged_when_it_was_watched() -> None:
    downloads = started(Frame("download", USER, 70))
    state = family({0: WAITS, 1: WAITS, 2: downloads, 3: WAITS, PARENT: JOINS})
    assert satisfied(take_snapshot(state, SPEC, NOW))
    assert state.procs is not None
    young = tuple(replace(member, recent=replace(IDLE, seconds=0.5)) for member in state.procs.processes)
    assert not satisfied(take_snapshot(replace(state, procs=replace(state.procs, processes=young)), SPEC, NOW))


def stack(main_thread: Thread, pid: int = 1) -> Stack:
    return Stack(pid, NOW, (main_thread,))


def test_what_a_child_was_started_with_and_its_way_are_told_without_generators() -> None:
    assert entries([stack(HUB, 1)]) == {1: ("rank_main", USER)}
    assert entries([stack(JOINS, 1)]) == {}
    assert functions_of(HUB) == functions_of(WAITS)


def functions_of(main_thread: Thread) -> tuple[tuple[str, str], ...]:
    from hangtop.stacks.activity import activity_of

    known = activity_of(stack(main_thread))
    assert known is not None
    return functions(known)


def test_home_made_loaders_side_by_side_are_no_peers() -> None:
    loads = started(Frame("load_batches", USER, 50), wait="pipe")
    assert not meet([stack(loads, pid) for pid in range(3)])
    assert meet([stack(WAITS, pid) for pid in range(3)])


def test_a_parent_that_looks_after_its_children_watches_and_one_that_waits_for_a_lock_does_not() -> None:
    watches = thread(Frame("watch_ranks", USER, 12), wait="sleep")
    assert watches_children(stack(JOINS), [stack(WAITS)])
    assert watches_children(stack(watches), [stack(WAITS)])
    assert not watches_children(stack(thread(Frame("load_shard", USER, 61))), [stack(WAITS)])


def test_a_script_that_sleeps_watches_its_copies_and_not_what_runs_another_script() -> None:
    asleep, other = (Thread("MainThread", (Frame("<module>", file, 31),), state="S", wait="sleep") for file in (USER, "actor.py"))
    assert watches_children(stack(asleep), [stack(asleep)])
    assert not watches_children(stack(asleep), [stack(other)])


def test_a_worker_of_a_pool_that_waits_for_a_stopped_helper_is_named_and_not_who_waits_for_the_pool() -> None:
    pool, get = "/usr/lib/python3.11/multiprocessing/pool.py", Frame("get", "/usr/lib/python3.11/multiprocessing/queues.py", 365)
    began = (Frame("run", MULTIPROCESSING, 108), Frame("_bootstrap", MULTIPROCESSING, 314))
    idle = Thread("MainThread", (get, Frame("worker", pool, 114), *began), state="S", wait="pipe")
    grades = Thread("MainThread", (Frame("score", USER, 24), Frame("worker", pool, 125), *began), state="S", wait="pipe")
    maps = thread(Frame("wait", THREADING, 320), Frame("get", pool, 767), Frame("map", pool, 367))
    state = family({0: idle, 1: grades, PARENT: maps})
    own, helper = watched(101, waits(101, at_pipe(OUTSIDE), kind="read")), watched(OUTSIDE, waits(OUTSIDE), state="T")
    said = diagnose(replace(state, waits=watch(own, helper, watched(100), watched(104), at=NOW - 10)), SPEC, NOW)
    assert (said.word, said.kind, [culprit.pid for culprit in said.culprits]) == ("hung", "stopped", [101])


def test_those_that_take_from_one_queue_stand_in_one_call_and_who_should_fill_it_is_named() -> None:
    queues = "/usr/lib/python3.11/multiprocessing/queues.py"
    at_lock, reads = Frame("__enter__", "/usr/lib/python3.11/multiprocessing/synchronize.py", 95), Frame("recv", CONNECTION, 250)
    takes = [started(inner, Frame("get", queues, line), main="consume") for inner, line in ((at_lock, 102), (reads, 103))]
    makes = started(Frame("produce", USER, 11), main="produce", wait="sleep")
    looks_on = Excerpt(USER, 9, ("while not ready():", "    time.sleep(1)"), at=11, loop="asks")
    state = family({0: takes[0], 1: takes[1], 2: takes[0], 3: makes, PARENT: JOINS}, ranks=3)
    looks = tuple(replace(look, excerpts=(looks_on,)) for look in state.looks)
    said = diagnose(replace(state, looks=looks), SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [103])


def test_a_lone_process_that_is_stopped_is_named_once() -> None:
    alone = nameless(0, state="T", ppid=1)
    said = diagnose(run({0: thread(Frame("main", USER, 9))}, (alone,)), SPEC, NOW)
    assert (said.kind, said.evidence[0].text) == ("stopped", "pid 100: stopped")
