"""Members that cannot go on before somebody takes what they give, and the process that started them."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.process import Process
from hangtop.records.stack import Excerpt, Frame, Thread
from hangtop.records.waiting import BlockedCall, OtherEnd, ThreadWait, WaitObject
from hangtop.records.watched_waits import WaitsReading, WatchedProcess
from hangtop.state.run_state import RunState
from tests.fakes.members import CONNECTION, IDLE, NOW, SPEC, USER, process, run
from tests.fakes.waited import waits, watch, watched

LIBRARY = "/usr/lib/python3.11/multiprocessing"
STARTED = (Frame("run", f"{LIBRARY}/process.py", 108), Frame("_bootstrap", f"{LIBRARY}/process.py", 314))
PARENT = 99
PUTS = Thread("MainThread", (Frame("Queue.put", f"{LIBRARY}/queues.py", 89), Frame("act", USER, 26), *STARTED), wait="lock")
LEAVES = Thread(
    "MainThread",
    (Frame("Thread.join", "/usr/lib/python3.11/threading.py", 1119), Frame("_finalize_join", f"{LIBRARY}/queues.py", 199)),
    wait="lock",
)
SENDS = Thread("MainThread", (Frame("Connection.send", CONNECTION, 206), Frame("act", USER, 31), *STARTED), wait="socket")
GETS = Thread("MainThread", (Frame("Queue.get", f"{LIBRARY}/queues.py", 103), Frame("act", USER, 20), *STARTED), wait="pipe")
JOINS = Thread(
    "MainThread",
    (
        Frame("Popen.poll", f"{LIBRARY}/popen_fork.py", 27),
        Frame("BaseProcess.join", f"{LIBRARY}/process.py", 149),
        Frame("main", USER, 70),
    ),
    wait="child",
)
RESTS = Thread("MainThread", (Frame("evaluate", USER, 18), *STARTED), wait="sleep")
TAKES = Thread("taker", (Frame("take", USER, 10), Frame("run", "/usr/lib/python3.11/threading.py", 982)), tid=77, wait="sleep")


def child(number: int) -> Process:
    return replace(process(number), rank=None, world=None, role="other")


def family(*children: Thread, parent: tuple[Thread, ...] = (JOINS,)) -> RunState:
    """The children of one process, which all stand still; the last look at that one shows these threads."""
    top = replace(process(0), pid=PARENT, ppid=1, rank=None, world=None, role="other", recent=IDLE)
    numbers = range(1, len(children) + 1)
    threads = {**dict(zip(numbers, children, strict=True)), PARENT - 100: parent[0]}
    state = run(threads, (top, *(child(number) for number in numbers)))
    looks = (
        replace(look, stacks=tuple(replace(stack, threads=parent) if stack.pid == PARENT else stack for stack in look.stacks))
        for look in state.looks
    )
    return replace(state, looks=tuple(looks))


def named(state: RunState) -> list[int | None]:
    said = diagnose(state, SPEC, NOW)
    assert said.word == "hung"
    return [culprit.pid for culprit in said.culprits]


def test_who_joins_its_children_before_it_takes_what_they_put_is_named() -> None:
    state = family(PUTS, PUTS, PUTS)
    assert named(state) == [PARENT]
    assert "wait until it takes what they gave" in diagnose(state, SPEC, NOW).headline


def test_children_that_cannot_leave_before_what_they_put_is_taken_wait_for_it_too() -> None:
    assert named(family(LEAVES, LEAVES)) == [PARENT]


def test_who_waits_for_a_message_may_wait_for_a_sibling() -> None:
    assert named(family(GETS, GETS, GETS)) == []


def test_who_joins_another_child_takes_again_when_that_has_ended() -> None:
    state = family(PUTS, PUTS)
    helper = watched(PARENT, waits(PARENT, OtherEnd(WaitObject("child"), (77,)), kind="child"))
    assert named(replace(state, waits=watch(helper, at=NOW - 10))) != [PARENT]
    assert state.procs is not None
    evaluates = replace(child(5), pid=77, ppid=PARENT)
    looks = tuple(replace(look, stacks=(*look.stacks, replace(look.stacks[0], pid=77, threads=(RESTS,)))) for look in state.looks)
    procs = replace(state.procs, processes=(*state.procs.processes, evaluates))
    assert "takes" not in diagnose(replace(state, procs=procs, looks=looks), SPEC, NOW).headline


def test_a_child_that_rests_by_turns_works_if_its_parent_waits_for_its_end_alone() -> None:
    """Nobody waits for the end of a monitor, which sleeps so too."""
    state = family(PUTS, PUTS)
    assert state.procs is not None
    rests = replace(child(5), pid=77, ppid=PARENT, recent=replace(IDLE, switches_s=3.0))
    actors = (replace(process, role="rank", rank=process.pid - 101) for process in state.procs.processes if process.pid != PARENT)
    top = (process for process in state.procs.processes if process.pid == PARENT)
    source = Excerpt(USER, 17, ("while time.time() - began < 45:", "    time.sleep(0.3)"), at=18, loop="ends")
    looks = tuple(
        replace(look, stacks=(*look.stacks, replace(look.stacks[0], pid=77, threads=(RESTS,))), excerpts=(source,))
        for look in state.looks
    )
    state = replace(state, procs=replace(state.procs, processes=(*top, *actors, rests)), looks=looks)
    joins = watched(PARENT, waits(PARENT, OtherEnd(WaitObject("child"), (77,)), kind="child"))
    assert diagnose(replace(state, waits=watch(joins, at=NOW - 10)), SPEC, NOW).word == "slow"
    assert not take_snapshot(state, SPEC, NOW).beside


def sends_to(pid: int, *readers: int) -> WatchedProcess:
    end = OtherEnd(WaitObject("unix", writes=True, inode=pid), readers)
    return watched(pid, ThreadWait(BlockedCall(pid, pid, "S", "write", "write"), (end,)), stood=True)


def test_of_what_is_sent_only_the_one_at_the_other_end_can_take_it() -> None:
    state = family(SENDS, SENDS)
    joins = watched(PARENT, waits(PARENT, OtherEnd(WaitObject("child"), (101,)), kind="child"))
    both = watch(sends_to(101, PARENT, 102), sends_to(102, PARENT, 102), joins, at=NOW - 10)
    assert named(replace(state, waits=both)) == [PARENT], "nobody else reads what the second one sends"
    ring = watch(sends_to(101, PARENT, 102), sends_to(102, PARENT, 101), joins, at=NOW - 10)
    assert PARENT not in named(replace(state, waits=ring)), "each may send to its sibling"


def test_a_thread_beside_the_join_takes_and_its_sleep_ends() -> None:
    state = family(PUTS, PUTS, parent=(JOINS, TAKES))
    sleep = ThreadWait(BlockedCall(PARENT, 77, "S", "sleep", "clock_nanosleep", timed=True, rest_s=40.0, rest_exact=True))
    own = watched(PARENT, waits(PARENT, kind="child"), sleep)
    source = Excerpt(USER, 8, ("for item in items:", "    take(item)", "    time.sleep(40)"), at=10, loop="ends")
    looks = tuple(replace(look, excerpts=(source,)) for look in state.looks)
    state = replace(state, looks=looks, waits=watch(own, at=NOW - 10))
    assert [other.pid for other in take_snapshot(state, SPEC, NOW).beside] == [PARENT]
    assert diagnose(state, SPEC, NOW).word == "slow"


def chain(*links: tuple[int, OtherEnd]) -> WaitsReading:
    known = (watched(pid, ThreadWait(BlockedCall(pid, pid, "S", "read", "read", timed=False), (end,))) for pid, end in links)
    joins = OtherEnd(WaitObject("child"), (101,))
    parent = ThreadWait(BlockedCall(PARENT, PARENT, "S", "child", "wait4", timed=False), (joins,))
    return watch(*known, watched(PARENT, parent), at=NOW - 10)


def pipe_to(*pids: int) -> OtherEnd:
    return OtherEnd(WaitObject("pipe", reads=True, inode=3), pids)


def test_of_a_chain_that_its_parents_join_closes_to_a_circle_the_last_is_named() -> None:
    state = family(GETS, GETS, GETS)
    closed = replace(state, waits=chain((101, pipe_to(102)), (102, pipe_to(103)), (103, pipe_to(PARENT))))
    assert named(closed) == [103]
    assert "at its end stands" in diagnose(closed, SPEC, NOW).headline
    everywhere = [(pid, pipe_to(PARENT, *({101, 102, 103} - {pid}))) for pid in (101, 102, 103)]
    assert named(replace(state, waits=chain(*everywhere))) == [], "after a fork all hold all ends"
