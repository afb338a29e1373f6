"""Verdicts over members that wait for a process at the other end, or at a place where bytes move."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.log import Progress
from hangtop.records.process import ProcessReading, RecentActivity
from hangtop.records.stack import Excerpt, Frame, Loop, Stack, Thread
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import BlockedCall, CallKind, OtherEnd, ThreadWait, WaitObject
from hangtop.records.watched_waits import WatchedProcess
from hangtop.state.run_state import RunState
from tests.fakes.members import DATA, IDLE, LOCK, NOW, SPEC, USER, four, process, run, thread
from tests.fakes.waited import OUTSIDE, at_lock, at_pipe, at_tcp, tcp, waits, watch, watched

WORKER = "/venv/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py"


def rank_2(*ends: OtherEnd, **more: object) -> WatchedProcess:
    return watched(102, waits(102, *ends), **more)


def seen(*processes: WatchedProcess, at: float = NOW - 10) -> RunState:
    """Three ranks wait in a collective for rank 2, which stands in a lock, and its wait was watched."""
    return replace(four(LOCK), waits=watch(*processes, at=at))


def test_a_rank_whose_bytes_move_is_at_work_and_nobody_hangs() -> None:
    own = rank_2(at_tcp(8), sockets=(tcp(8, received_in=3, received_bytes=3_000),))
    said = diagnose(seen(own), SPEC, NOW)
    assert (said.word, said.at_work) == ("slow", (2,))
    assert "receives from 127.0.0.1:2" in said.headline
    assert "kB" not in said.headline, "figures change with each look"


def test_a_watch_from_before_the_last_output_proves_nothing() -> None:
    own = rank_2(at_tcp(8), sockets=(tcp(8, received_in=3, received_bytes=3_000),))
    assert diagnose(seen(own, at=NOW - 500), SPEC, NOW).word == "hung"


def test_another_process_with_the_pid_proves_nothing() -> None:
    own = rank_2(at_tcp(8), sockets=(tcp(8, received_in=3, received_bytes=3_000),), start_ticks=8)
    assert diagnose(seen(own), SPEC, NOW).word == "hung"


def test_a_lock_whose_holder_computes_makes_the_run_slow() -> None:
    said = diagnose(seen(rank_2(at_lock(OUTSIDE)), watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), busy_in=4)), SPEC, NOW)
    assert said.word == "slow"
    assert f"for `tool{OUTSIDE} --x` (pid {OUTSIDE}, alice), which computes" in said.headline


def test_a_holder_that_is_stopped_is_named_and_the_rank_that_waits_for_it() -> None:
    said = diagnose(seen(rank_2(at_lock(OUTSIDE)), watched(OUTSIDE, waits(OUTSIDE), state="T")), SPEC, NOW)
    assert (said.word, said.kind, [culprit.rank for culprit in said.culprits]) == ("hung", "stopped", [2])
    assert said.headline == f"Rank 2 waits for `tool{OUTSIDE} --x` (pid {OUTSIDE}, alice), which is stopped; 3 ranks wait for it."


def test_a_helper_of_the_run_is_accused_itself_beside_its_rank() -> None:
    """What is not the run's is told in words alone."""
    state = seen(rank_2(at_lock(OUTSIDE)), watched(OUTSIDE, waits(OUTSIDE), state="T"))
    assert [culprit.pid for culprit in diagnose(state, SPEC, NOW).culprits] == [102]
    assert state.procs is not None
    helper = replace(process(2), pid=OUTSIDE, ppid=102, rank=None, role="other", command="python grade.py", state="T")
    of_run = replace(state, procs=replace(state.procs, processes=(*state.procs.processes, helper)))
    culprits = diagnose(of_run, SPEC, NOW).culprits
    assert [(culprit.rank, culprit.pid) for culprit in culprits] == [(2, OUTSIDE)]


def test_a_store_that_serves_others_too_is_only_told_and_the_rank_that_waits_for_it_is_named() -> None:
    """The launcher keeps it; what rank 2 wants to read there another rank should have written."""
    serves = waits(OUTSIDE, at_tcp(9, 102), at_tcp(11, 100), kind="poll")
    store = watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), replace(serves, call=replace(serves.call, tid=OUTSIDE + 1)))
    state = seen(rank_2(at_tcp(8, OUTSIDE)), store)
    assert state.procs is not None
    launcher = replace(process(2), pid=OUTSIDE, rank=None, role="launcher", command="torchrun")
    of_run = replace(state, procs=replace(state.procs, processes=(launcher, *state.procs.processes)))
    assert [(culprit.rank, culprit.pid) for culprit in diagnose(of_run, SPEC, NOW).culprits] == [(2, 102)]


def test_a_server_for_which_several_wait_is_named_once_and_has_no_number() -> None:
    server = replace(process(0), pid=OUTSIDE, rank=None, role="other", command="python serve.py")
    asks = thread(Frame("ask", USER, 61), wait="socket")
    state = run({0: asks, 1: asks}, (process(0, world=2), process(1, world=2), server))
    ends = (watched(100 + rank, waits(100 + rank, at_tcp(8 + rank, OUTSIDE))) for rank in (0, 1))
    said = diagnose(replace(state, waits=watch(*ends, watched(OUTSIDE, waits(OUTSIDE, kind="futex")), at=NOW - 10)), SPEC, NOW)
    assert [(culprit.rank, culprit.pid) for culprit in said.culprits] == [(None, OUTSIDE)]


def called(*, step: int | None = None, received_bytes: int = 0, beside: int = 0, kind: CallKind = "accept") -> Verdict:
    """Two ranks have told a process that they are there; it lets in who connects. `beside`: others of the run stand elsewhere."""
    asks = thread(Frame("join", USER, 61), wait="socket")
    coordinator = replace(process(0), pid=OUTSIDE, rank=None, role="other", command="python coordinate.py")
    others = tuple(replace(coordinator, pid=5_000 + number, command="python late.py") for number in range(beside))
    state = run({0: asks, 1: asks}, (process(0, world=2), process(1, world=2), coordinator, *others))
    assert state.log is not None
    state = replace(state, log=replace(state.log, progress=Progress(step=step)), ranks={})
    ends = []
    for rank in (0, 1):
        link = tcp(8 + rank)
        link = replace(link, last=replace(link.last, received_bytes=received_bytes))
        ends.append(watched(100 + rank, waits(100 + rank, at_tcp(8 + rank, OUTSIDE)), sockets=(link,)))
    door = OtherEnd(WaitObject("tcp", reads=True, inode=3, tcp_state="listen"), known=False)
    counts = watched(OUTSIDE, waits(OUTSIDE, door, kind=kind))
    return diagnose(replace(state, waits=watch(*ends, counts, at=NOW - 10)), SPEC, NOW)


def test_before_the_first_step_who_lets_in_one_after_another_and_answered_nobody_waits_for_more() -> None:
    said = called()
    assert (said.word, said.kind, said.culprits) == ("waiting", "rendezvous", ())
    assert said.headline.endswith("which waits for others to connect.")


def test_who_has_answered_or_serves_many_or_let_the_run_begin_owes_the_answer_itself() -> None:
    assert called(received_bytes=2_000).word == "hung"
    assert called(kind="poll").word == "hung"
    assert called(step=40).word == "hung"
    assert called(beside=1).word == "hung", "one that is here may be the one that never came"


def test_a_holder_that_idles_is_named() -> None:
    said = diagnose(seen(rank_2(at_lock(OUTSIDE)), watched(OUTSIDE, waits(OUTSIDE, kind="sleep"))), SPEC, NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("hung", [2])
    assert "which sleeps" in said.headline


def test_ranks_in_a_collective_are_left_as_they_are() -> None:
    own = watched(100, waits(100, at_tcp(8)), sockets=(tcp(8, received_in=4, full=True),))
    assert diagnose(seen(own), SPEC, NOW).culprits[0].rank == 2


def test_two_processes_that_wait_for_each_other() -> None:
    mine, other = rank_2(at_pipe(OUTSIDE)), watched(OUTSIDE, waits(OUTSIDE, at_pipe(102), kind="read"))
    said = diagnose(seen(mine, other), SPEC, NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("hung", [2])
    assert said.headline.startswith("Dead-lock: rank 2 waits for `tool4711")
    moving = replace(other, stood=False)
    assert not diagnose(seen(mine, moving), SPEC, NOW).headline.startswith("Dead-lock")
    partly = replace(other, complete=False)
    assert not diagnose(seen(mine, partly), SPEC, NOW).headline.startswith("Dead-lock"), "a thread of it may go on"


def test_of_members_in_a_circle_the_one_is_named_for_which_a_process_beside_them_waits_alone() -> None:
    """Children that a parent forked off one after the other hold the ends of those before them."""
    reads = thread(Frame("child", USER, 17), wait="socket")
    state = run({0: reads, 1: reads}, (process(0, ppid=OUTSIDE, world=2), process(1, ppid=OUTSIDE, world=2)))
    parent = watched(OUTSIDE, waits(OUTSIDE, at_pipe(100), kind="read"))
    older = watched(100, waits(100, at_pipe(OUTSIDE, 101), kind="read"))
    younger = watched(101, waits(101, at_pipe(OUTSIDE), kind="read"))
    said = diagnose(replace(state, waits=watch(parent, older, younger, at=NOW - 10)), SPEC, NOW)
    assert (said.rule, [culprit.rank for culprit in said.culprits]) == ("dead_lock", [0])


def test_in_a_ring_in_which_all_send_and_nobody_takes_each_is_as_much_to_blame() -> None:
    sends = thread(Frame("ring_mean", USER, 31), wait="socket")
    state = run(dict.fromkeys(range(3), sends), tuple(process(rank, world=3) for rank in range(3)))

    def ring(*, writes: bool) -> Verdict:
        at = [at_tcp(8 + rank, 100 + (rank + 1) % 3, reads=not writes, writes=writes) for rank in range(3)]
        ends = (watched(100 + rank, waits(100 + rank, end, kind="send")) for rank, end in enumerate(at))
        return diagnose(replace(state, waits=watch(*ends, at=NOW - 10)), SPEC, NOW)

    said = ring(writes=True)
    assert (said.rule, [(each.rank, each.confidence) for each in said.culprits]) == (
        "dead_lock",
        [(rank, "possible") for rank in range(3)],
    )
    assert ring(writes=False).culprits == (), "one message that was lost stops a ring of readers too"


def test_a_rank_that_looks_for_something_while_the_same_job_computes_may_get_it() -> None:
    """It sleeps in a loop that asks; a daemon that the same script started scores its checkpoint."""
    asks = Excerpt(USER, 70, ("while not found():", "    time.sleep(2)"), at=71, loop="asks")
    quiet = four(thread(Frame("look", USER, 71), wait="sleep"))
    state = replace(quiet, looks=tuple(replace(look, excerpts=(asks,)) for look in quiet.looks))
    scorer = watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), busy_in=4)
    reading = watch(rank_2(), scorer, at=NOW - 10)
    said = diagnose(replace(state, waits=replace(reading, beside=(OUTSIDE,))), SPEC, NOW)
    assert (said.word, said.at_work) == ("slow", (2,))
    assert "of the same job, computes" in said.headline
    assert diagnose(replace(state, waits=reading), SPEC, NOW).word == "hung", "a process of another job"


def poller(stranger: WatchedProcess, loop: Loop = "ends", *, silence_s: float = 200.0) -> RunState:
    """A process alone looks for something every two seconds; a stranger works in a folder that it was told of."""
    asks = Excerpt(USER, 70, ("while not found():", "    time.sleep(2)"), at=71, loop="asks")
    looks = thread(Frame("look", USER, 71), wait="sleep")
    state = run({0: looks}, (replace(process(0), rank=None, world=None, role="other"),), silence_s=silence_s)
    sleeps = Thread("MainThread", (Frame("fill", "/srv/daemon.py", 9),), tid=OUTSIDE, state="S", wait="sleep")
    told = (asks, Excerpt("/srv/daemon.py", 9, ("    time.sleep(1)",), at=9, loop=loop))
    shown = tuple(
        replace(look, excerpts=told, stacks=(*look.stacks, Stack(OUTSIDE, NOW, (sleeps,), started_ticks=7)))
        for look in state.looks
    )
    own = watched(100, waits(100, kind="sleep"), woken_in=2)
    reading = replace(watch(own, stranger, at=NOW - 10), near=(OUTSIDE,))
    return replace(state, ranks={}, looks=shown, waits=reading)


def test_what_a_stranger_does_in_a_folder_of_the_run_may_be_what_it_looks_for() -> None:
    busy = watched(OUTSIDE, waits(OUTSIDE, state="R"), busy_in=4)
    said = diagnose(poller(busy), SPEC, NOW)
    assert said.word == "slow"
    assert "in a folder of this run, computes" in said.headline
    assert diagnose(poller(busy, silence_s=2_000), SPEC, NOW).word == "hung", "longer than a run may rest on purpose"
    assert diagnose(poller(watched(OUTSIDE, waits(OUTSIDE, kind="futex"))), SPEC, NOW).word == "hung", "it stands itself"


def test_a_stranger_that_rests_goes_on_if_its_loop_ends_by_itself_and_may_else_be_a_monitor() -> None:
    rests = watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), woken_in=3)
    assert "rests for moments and goes on" in diagnose(poller(rests), SPEC, NOW).headline
    assert diagnose(poller(rests, "asks"), SPEC, NOW).word == "hung"
    assert OUTSIDE in take_snapshot(poller(rests), SPEC, NOW).answering, "its stack is looked at, for that"


def test_who_looks_for_what_another_of_the_same_job_makes_is_alive_as_long_as_that_one_goes_on() -> None:
    """An evaluation asks for the next checkpoint; the training beside it rests between its steps, and computes little."""

    def called(loop: Loop, silence_s: float = 2_000.0, **more: object) -> Verdict:
        state = poller(watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), **{"woken_in": 3, **more}), loop, silence_s=silence_s)
        assert state.waits is not None
        state = replace(state, waits=replace(state.waits, near=(), beside=(OUTSIDE,)))
        assert OUTSIDE in take_snapshot(state, SPEC, NOW).answering, "its stack is looked at, for that"
        return diagnose(state, SPEC, NOW)

    said = called("ends")
    assert (said.word, "of the same job, rests for moments and goes on" in said.headline) == ("slow", True)
    assert called("asks").word == called("beats").word == "hung", "a monitor"
    assert called("ends", woken_in=0).word == "hung", "it stands itself"


def test_a_shell_that_goes_through_a_list_makes_what_is_looked_for_and_one_in_a_while_may_be_a_monitor() -> None:
    def word(near: tuple[int, ...] = (), met: OtherEnd | None = None, **more: object) -> str:
        shell = watched(OUTSIDE, waits(OUTSIDE, kind="child"), **({"woken_in": 3, "counted": True} | more))
        state = poller(shell, silence_s=2_000.0)
        assert state.waits is not None
        reading = replace(state.waits, near=near)
        if met is not None:
            own = reading.processes[0]
            held = replace(own, threads=(*own.threads, waits(100, met, kind="futex", tid=105)))
            reading = replace(reading, processes=(held, *reading.processes[1:]))
        return diagnose(replace(state, waits=reading), SPEC, NOW).word

    assert word() == "slow"
    assert word(counted=False) == "hung"
    assert word(woken_in=0) == "hung", "its command stands"
    assert word(near=(OUTSIDE,)) == "hung", "a stranger's, in the same folder"
    assert word(met=at_pipe(OUTSIDE)) == "hung", "a stranger's, at the other end of a pipe"
    assert word(met=OtherEnd(WaitObject("child"), (OUTSIDE,))) == "slow", "a shell that the run started"


def test_of_a_companion_in_an_event_loop_all_sleeps_tell_whether_it_goes_on() -> None:
    def word(*awaits: Loop, timers: int = 1) -> str:
        state = poller(watched(OUTSIDE, waits(OUTSIDE, kind="poll"), woken_in=3))
        assert state.waits is not None
        loop = Thread("MainThread", (Frame("main", "/srv/daemon.py", 9),), tid=OUTSIDE, state="S", wait="poll", timers=timers)
        told = Excerpt("/srv/daemon.py", 9, ("asyncio.run(main())",), at=9, loop="none", awaits=awaits)
        shown = tuple(
            replace(
                look,
                excerpts=(*look.excerpts[:1], told),
                stacks=(*look.stacks[:-1], Stack(OUTSIDE, NOW, (loop,), started_ticks=7)),
            )
            for look in state.looks
        )
        return diagnose(replace(state, looks=shown, waits=replace(state.waits, near=(), beside=(OUTSIDE,))), SPEC, NOW).word

    assert (word("ends"), word("ends", "beats"), word("ends", timers=0)) == ("slow", "hung", "hung")


def test_any_process_of_the_job_that_goes_on_may_send_the_signal_that_is_waited_for() -> None:
    def word(loop: Loop) -> str:
        state = poller(watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), woken_in=3), loop)
        pauses = Stack(100, NOW, (thread(Frame("main", USER, 6)),), started_ticks=7)
        looks = tuple(replace(look, stacks=(pauses, look.stacks[-1])) for look in state.looks)
        assert state.waits is not None
        own = watched(100, waits(100, kind="signal"))
        reading = replace(state.waits, processes=(own, *state.waits.processes[1:]), near=(), beside=(OUTSIDE,))
        return diagnose(replace(state, looks=looks, waits=reading), SPEC, NOW).word

    assert (word("ends"), word("asks")) == ("slow", "hung")


def test_who_has_the_lock_and_rests_in_a_loop_that_ends_gives_it_back() -> None:
    locked = thread(Frame("take", USER, 5), wait="file")
    holder = watched(OUTSIDE, waits(OUTSIDE, kind="sleep"), woken_in=3)

    def word(loop: Loop) -> str:
        state = poller(holder, loop)
        looks = tuple(
            replace(look, stacks=(Stack(100, NOW, (locked,), started_ticks=7), look.stacks[-1])) for look in state.looks
        )
        asks = watched(100, waits(100, at_lock(OUTSIDE), kind="file lock"))
        return diagnose(replace(state, looks=looks, waits=watch(asks, holder, at=NOW - 10)), SPEC, NOW).word

    assert (word("ends"), word("asks")) == ("slow", "hung")


def test_an_answer_of_another_machine_is_waited_for_and_only_a_wait_beyond_all_reason_is_a_hang() -> None:
    judge = OtherEnd(WaitObject("tcp", reads=True, inode=8, local="10.0.0.1:9", remote="10.0.0.9:8000"), elsewhere=True)
    said = diagnose(seen(rank_2(judge)), SPEC, NOW)
    assert (said.word, said.confidence, [culprit.rank for culprit in said.culprits]) == ("stalled", "possible", [2])
    assert said.headline.startswith(
        "Rank 2 waits for 10.0.0.9:8000, which is on another machine or in a container; 3 ranks wait for it."
    )
    here = OtherEnd(replace(judge.object, remote="127.0.0.1:1"), (OUTSIDE,))
    either = diagnose(seen(rank_2(judge, here), watched(OUTSIDE, waits(OUTSIDE, kind="sleep"))), SPEC, NOW)
    assert either.word == "hung", "a process of this machine could answer as well"
    short = replace(SPEC, stall_s=1.0)
    assert diagnose(seen(rank_2(judge)), short, NOW).word == "hung", "as long as no sleep may last"


def test_a_server_that_took_the_question_and_wakes_by_its_own_clock_may_answer_yet() -> None:
    ticks = BlockedCall(OUTSIDE, OUTSIDE, "S", "poll", "epoll_wait", timed=True, rest_s=0.4)
    server = watched(OUTSIDE, ThreadWait(ticks, (at_tcp(9, 102),)), listens=("2",), woken_in=3)
    state = replace(four(LOCK, silence_s=130), waits=watch(rank_2(at_tcp(8, OUTSIDE)), server, at=NOW - 10))
    said = diagnose(state, SPEC, NOW)
    assert (said.word, said.confidence, [culprit.rank for culprit in said.culprits]) == ("stalled", "possible", [2])
    assert "wakes by its own clock; 3 ranks wait for it" in said.headline
    late = replace(four(LOCK, silence_s=1_900), waits=state.waits)
    assert diagnose(late, SPEC, NOW).word == "hung"


def test_a_data_worker_that_reads_from_another_machine_may_get_its_answer() -> None:
    state = four(DATA)
    assert state.procs is not None
    worker = replace(process(2), pid=202, ppid=102, rank=None, role="data worker")
    known = replace(state, procs=replace(state.procs, processes=(*state.procs.processes, worker)))
    store = OtherEnd(WaitObject("tcp", reads=True, inode=8, local="10.0.0.1:9", remote="10.0.0.9:8000"), elsewhere=True)
    said = diagnose(replace(known, waits=watch(watched(202, waits(202, store)), at=NOW - 10)), SPEC, NOW)
    assert (said.word, said.kind, [culprit.pid for culprit in said.culprits]) == ("stalled", "dataloader", [202])
    assert (diagnose(known, SPEC, NOW).word, diagnose(known, SPEC, NOW).kind) == ("hung", "dataloader")


def test_the_one_data_worker_that_stands_in_the_programs_own_code_is_named_beside_its_rank() -> None:
    state = four(DATA)
    assert state.procs is not None
    workers = tuple(replace(process(2), pid=pid, ppid=102, rank=None, role="data worker") for pid in (202, 203))
    idles = thread(Frame("get", "/usr/lib/python3.11/multiprocessing/queues.py", 103), Frame("_worker_loop", WORKER, 250))
    stands = thread(Frame("__getitem__", USER, 24), Frame("_worker_loop", WORKER, 250))

    def culprit(second: Thread, first: Thread = idles) -> int | None:
        shown = (Stack(202, NOW, (first,), started_ticks=7), Stack(203, NOW, (second,), started_ticks=7))
        looks = tuple(replace(look, stacks=(*look.stacks, *shown)) for look in state.looks)
        procs = replace(state.procs or ProcessReading(), processes=(*(state.procs or ProcessReading()).processes, *workers))
        (named,) = diagnose(replace(state, looks=looks, procs=procs), SPEC, NOW).culprits
        assert named.rank == 2
        return named.pid

    assert culprit(stands) == 203
    assert culprit(idles) == 102
    assert culprit(stands, stands) == 202, "all stand at one line, and the trainer only waits"
    assert culprit(stands, replace(stands, frames=(Frame("open", USER, 9), *stands.frames[1:]))) == 102


def looks_for_something(line: str, loop: str) -> RunState:
    """Rank 2 sleeps at this line in such a loop."""
    place = Excerpt(USER, 71, (line,), at=71, loop=loop)  # type: ignore[arg-type]
    quiet = four(thread(Frame("look", USER, 71), wait="sleep"))
    return replace(quiet, looks=tuple(replace(look, excerpts=(place,)) for look in quiet.looks))


def test_processes_of_the_same_job_that_wait_for_each_other_are_named() -> None:
    """A daemon reads what its child says, which reads what the daemon never closes; a rank looks for their result."""
    state, other = looks_for_something("    time.sleep(2)", "asks"), OUTSIDE + 1
    daemon = watched(OUTSIDE, waits(OUTSIDE, at_pipe(other), kind="read"))
    child = watched(other, waits(other, at_pipe(OUTSIDE), kind="read"))
    reading = replace(watch(rank_2(), daemon, child, at=NOW - 10), beside=(OUTSIDE, other))
    said = diagnose(replace(state, waits=reading), SPEC, NOW)
    assert said.headline.startswith("Rank 2 may wait for `tool4711 --x`")
    assert [(culprit.pid, culprit.confidence) for culprit in said.culprits] == [(OUTSIDE, "possible")]
    idle = replace(daemon, threads=(waits(OUTSIDE, kind="sleep"),))
    reading = replace(watch(rank_2(), idle, child, at=NOW - 10), beside=(OUTSIDE, other))
    assert [culprit.pid for culprit in diagnose(replace(state, waits=reading), SPEC, NOW).culprits] == [102]


def test_a_rank_that_asks_for_a_lock_again_and_again_waits_for_who_has_it() -> None:
    """SQLite sleeps a tenth of a second between two attempts, in C code; the holder waits at a pipe that nobody opens."""
    asks = replace(waits(102, kind="sleep"), locked=(at_lock(OUTSIDE),))
    fifo = OtherEnd(WaitObject("fifo", reads=True, inode=6, path="/data/go"))
    holder = watched(OUTSIDE, waits(OUTSIDE, fifo, kind="open"))
    state = looks_for_something("    base.execute(row)", "ends")
    said = diagnose(replace(state, waits=watch(watched(102, asks), holder, at=NOW - 10)), SPEC, NOW)
    assert said.headline.startswith("Rank 2 waits for `tool4711 --x` (pid 4711, alice), which waits for a writer of /data/go")
    working = replace(holder, busy_in=4)
    assert diagnose(replace(state, waits=watch(watched(102, asks), working, at=NOW - 10)), SPEC, NOW).word == "slow"
    sleeps = looks_for_something("    time.sleep(0.1)", "ends")
    said = diagnose(replace(sleeps, waits=watch(watched(102, asks), holder, at=NOW - 10)), SPEC, NOW)
    assert "tool4711" not in said.headline, "a program that sleeps by itself asks for nothing"


def lock_of(holder: int, **more: object) -> Verdict:
    """Rank 2 asks for a lock that this process has; three ranks wait in a collective."""
    asks = replace(waits(102, kind="sleep"), locked=(at_lock(holder),))
    has = watched(holder, waits(holder, kind="futex"), woken_in=2, **more)
    state = looks_for_something("    base.execute(row)", "ends")
    return diagnose(replace(state, waits=watch(watched(102, asks), has, at=NOW - 10)), SPEC, NOW)


def test_who_took_a_lock_into_the_collective_is_named_and_not_the_rank_that_wants_it() -> None:
    said = lock_of(103)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("hung", [3])
    assert said.headline == "Rank 2 waits for a lock that rank 3 took into all_reduce."
    assert lock_of(OUTSIDE).culprits[0].rank == 2, "one that is no member may wake, and give it back"
    assert lock_of(OUTSIDE, busy_in=4).word == "slow"


def test_a_call_with_a_limit_that_is_made_again_and_again_is_no_work() -> None:
    """Rank 2 wakes each half a second, since its wait for an answer has a limit; who should answer does nothing."""
    wakes = RecentActivity(
        seconds=10, samples=10, running_part=0.0, cpu_percent=0.0, io_b_s=0.0, switches_s=2.0, main_cpu_part=0.0001
    )
    asks = thread(Frame("recv_into", "/usr/lib/python3.11/socket.py", 700), Frame("ask_rewards", USER, 61), wait="poll")
    polls = waits(102, at_tcp(8, OUTSIDE), kind="poll")
    polls = replace(polls, call=replace(polls.call, timed=True))
    state = four(asks, process(2, wakes), silence_s=60.0)
    spec = replace(SPEC, stall_s=30.0)
    idle = watched(OUTSIDE, waits(OUTSIDE, kind="futex"))
    said = diagnose(replace(state, waits=watch(watched(102, polls), idle, at=NOW - 10)), spec, NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == ("hung", [2])
    comes = watched(102, polls, sockets=(tcp(8, received_in=1),))
    assert diagnose(replace(state, waits=watch(comes, idle, at=NOW - 10)), spec, NOW).word == "slow"


def test_flock_that_stands_at_a_lock_whose_holder_serves_nobody_is_hung() -> None:
    """A server was started under the lock in the stage before, and has inherited its descriptor."""
    flock = replace(process(2), rank=None, role="other", command="flock data/.lock python train.py")
    quiet = run({}, (flock,))
    server = watched(OUTSIDE, waits(OUTSIDE, at_tcp(3, writes=False), kind="accept"))
    said = diagnose(
        replace(quiet, waits=watch(watched(102, waits(102, at_lock(OUTSIDE), kind="file lock")), server, at=NOW - 10)), SPEC, NOW
    )
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [102])
    looped = watched(102, waits(102, at_lock(OUTSIDE), kind="file lock"), stood=False)
    assert diagnose(replace(quiet, waits=watch(looped, server, at=NOW - 10)), SPEC, NOW).word == "stalled"


def test_who_computes_at_the_end_of_all_waits_may_loop_and_is_named_if_it_is_the_runs() -> None:
    state = seen(rank_2(at_tcp(8, OUTSIDE)), watched(OUTSIDE, waits(OUTSIDE), busy_in=4))
    assert (diagnose(state, SPEC, NOW).word, diagnose(state, SPEC, NOW).culprits) == ("slow", ())
    assert state.procs is not None
    own = replace(process(9), pid=OUTSIDE, rank=None, role="other", ppid=1)
    said = diagnose(replace(state, procs=replace(state.procs, processes=(*state.procs.processes, own))), SPEC, NOW)
    assert [(culprit.pid, culprit.confidence) for culprit in said.culprits] == [(OUTSIDE, "possible")]


def test_a_program_without_a_stack_that_stands_before_its_child_waits_for_what_that_one_waits_for() -> None:
    """make(1) waits for a shell, that for a program, and this one opens a pipe whose other end nobody has."""
    fifo = OtherEnd(WaitObject("fifo", writes=True, inode=4, path="/tmp/go"))
    child = OtherEnd(WaitObject("child"), (102,))
    opens = thread(Frame("main", USER, 9), wait="pipe")
    make = replace(process(1, recent=IDLE), rank=None, world=None, role="other", name="make")
    writer = replace(process(2, recent=IDLE), rank=None, world=None, role="other", ppid=101)
    state = run({2: opens}, (make, writer), silence_s=130)
    beings = (watched(101, waits(101, child, kind="child")), watched(102, waits(102, fifo, kind="open")))
    said = diagnose(replace(state, ranks={}, waits=watch(*beings, at=NOW - 10)), SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [102])


def test_of_many_at_one_place_and_one_elsewhere_that_all_wait_for_a_message_the_one_is_named() -> None:
    worker, hub = (thread(Frame(name, USER, line), wait="socket") for name, line in (("work", 14), ("gather", 40)))
    everyone = tuple(replace(process(number), rank=None, world=None, role="other", ppid=99) for number in range(4))
    state = replace(run({0: worker, 1: worker, 2: worker, 3: hub}, everyone, silence_s=130), ranks={})
    assert [culprit.pid for culprit in diagnose(state, SPEC, NOW).culprits] == [103]
    alike = replace(run(dict.fromkeys(range(4), worker), everyone, silence_s=130), ranks={})
    assert diagnose(alike, SPEC, NOW).culprits == ()


def test_a_peer_of_which_no_thread_can_go_on_is_named_and_not_the_one_that_waits_for_it() -> None:
    """Rank 1 stands in a lock of its own, in a function that is called like a collective; rank 2 reads from its connection."""
    own = OtherEnd(WaitObject("futex", shared=False), (101,))
    reads = rank_2(at_tcp(8, 101))
    locked = watched(101, waits(101, own, kind="futex"))
    assert [culprit.rank for culprit in diagnose(seen(reads, locked), SPEC, NOW).culprits] == [1]
    partly = watched(101, waits(101, own, kind="futex"), complete=False)
    assert [culprit.rank for culprit in diagnose(seen(reads, partly), SPEC, NOW).culprits] == [2]
