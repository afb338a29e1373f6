"""Who waits for whom where no function has a name that is known: the crowd at one place waits for the few elsewhere."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.process import BlockedOn, RecentActivity
from hangtop.records.stack import Excerpt, Frame, Loop, Thread
from hangtop.state.run_state import RunState
from tests.fakes.members import ALL_REDUCE, BUSY, C10D, CONNECTION, IDLE, NOW, SPEC, STEP, USER, four, process, run, thread

SOCKET = "/usr/lib/python3.11/socket.py"
TENSOR = "/venv/lib/python3.11/site-packages/torch/_tensor.py"


def swap(line: int = 30) -> Thread:
    return thread(Frame("_recv", CONNECTION, 395), Frame("recv", CONNECTION, 250), Frame("swap", USER, line), wait="pipe")


def blamed(threads: dict[int, Thread], recent: RecentActivity = IDLE) -> list[int | None]:
    """For whom the crowd waits in a run whose ranks stand so. `recent`: what all but rank 2 did lately."""
    processes = tuple(process(rank, recent if rank != 2 else IDLE) for rank in threads)
    said = diagnose(run(threads, processes, silence_s=130), SPEC, NOW)
    assert "never entered" in said.headline
    return [culprit.rank for culprit in said.culprits]


BACKWARD = thread(Frame("backward", TENSOR, 600))
STUCK = thread(Frame("ask_rewards", USER, 61), wait="socket")


def test_the_rank_that_is_elsewhere_is_who_the_crowd_waits_for() -> None:
    said = diagnose(four(STUCK, peers=swap()), SPEC, NOW)
    assert (said.word, said.kind, [culprit.rank for culprit in said.culprits]) == ("hung", "cpu_collective", [2])
    assert "never entered swap" in said.headline


def test_a_root_that_gathers_a_line_further_on_is_of_the_crowd() -> None:
    processes = tuple(process(rank) for rank in range(4))
    said = diagnose(run({0: swap(37), 1: swap(), 2: STUCK, 3: swap()}, processes), SPEC, NOW)
    assert [culprit.rank for culprit in said.culprits] == [2]


def test_in_a_script_of_one_function_the_lines_tell() -> None:
    waits = thread(Frame("recv", CONNECTION, 250), Frame("main", USER, 40), wait="pipe")
    odd = thread(Frame("main", USER, 47), wait="lock")
    assert [culprit.rank for culprit in diagnose(four(odd, peers=waits), SPEC, NOW).culprits] == [2]


def test_nobody_is_blamed_when_all_stand_in_the_crowd() -> None:
    said = diagnose(four(swap(), peers=swap()), SPEC, NOW)
    assert (said.word, said.culprits) == ("hung", ())


def test_nobody_is_blamed_where_no_class_is_the_most() -> None:
    processes = tuple(process(rank) for rank in range(4))
    said = diagnose(run({0: swap(), 1: swap(), 2: STUCK, 3: STUCK}, processes), SPEC, NOW)
    assert (said.word, said.culprits) == ("hung", ())


def test_sleepers_are_no_crowd() -> None:
    asleep = thread(Frame("cool_down", USER, 50), wait="sleep")
    assert diagnose(four(swap(), peers=asleep), SPEC, NOW).culprits == ()


def test_who_sleeps_and_looks_again_is_of_the_crowd() -> None:
    polls = thread(Frame("until_all_are_here", USER, 50), wait="sleep")
    often = replace(IDLE, switches_s=10.0)
    processes = tuple(process(rank, often if rank != 2 else IDLE) for rank in range(4))
    assert [
        culprit.rank for culprit in diagnose(run({0: polls, 1: polls, 2: STUCK, 3: polls}, processes), SPEC, NOW).culprits
    ] == [2]


def test_gradients_that_wait_in_c_are_a_collective_and_another_collective_is_the_odd_one() -> None:
    gathers = thread(Frame("all_gather", C10D, 2200))
    said = diagnose(four(gathers, peers=BACKWARD), SPEC, NOW)
    assert (said.word, said.kind, [culprit.rank for culprit in said.culprits]) == ("hung", "desync", [2])


def test_a_backward_that_computes_is_work() -> None:
    runs = thread(Frame("backward", TENSOR, 600), state="R")
    said = diagnose(run(dict.fromkeys(range(4), runs), tuple(process(rank, BUSY, "R") for rank in range(4))), SPEC, NOW)
    assert said.word == "slow"


def test_a_rank_that_makes_a_group_alone_parted_from_its_peers() -> None:
    group = thread(Frame("_new_process_group_helper", C10D, 1600), Frame("new_group", C10D, 5000))
    said = diagnose(four(group, peers=BACKWARD), SPEC, NOW)
    assert (said.kind, [culprit.rank for culprit in said.culprits]) == ("desync", [2])


def stepping(cpu_percent: float, switches_s: float) -> RunState:
    """Rank 2 sleeps for moments and computes a little in between; both looks found it asleep."""
    recent = replace(IDLE, cpu_percent=cpu_percent, switches_s=switches_s)
    return four(thread(Frame("wait_for_frame", USER, 50), wait="sleep"), process(2, recent), silence_s=130)


def test_who_computes_between_its_sleeps_is_at_work_until_it_was_silent_for_long() -> None:
    assert diagnose(stepping(7.0, 18.0), SPEC, NOW).word == "slow"


def test_who_only_looks_whether_something_came_is_not() -> None:
    assert diagnose(stepping(2.0, 900.0), SPEC, NOW).word == "hung"
    assert diagnose(stepping(0.1, 2.0), SPEC, NOW).word == "hung"


def test_the_time_of_the_main_thread_tells_small_steps_from_mere_looks() -> None:
    """4 ms a turn, twice a second, are below what steps of 10 ms can show; 0.1 ms are a look."""

    def used(part: float) -> RunState:
        recent = replace(IDLE, cpu_percent=1.0, switches_s=2.0, main_cpu_part=part)
        return four(thread(Frame("wait_for_frame", USER, 50), wait="sleep"), process(2, recent), silence_s=130)

    assert diagnose(used(0.008), SPEC, NOW).word == "slow"
    assert diagnose(used(0.0002), SPEC, NOW).word == "hung"


def test_in_a_script_without_functions_the_place_is_named() -> None:
    def waits(line: int, wait: str) -> Thread:
        return Thread("MainThread", (Frame("<module>", USER, line),), state="S", wait=wait)  # type: ignore[arg-type]

    said = diagnose(four(waits(9, "lock"), peers=waits(5, "pipe")), SPEC, NOW)
    assert said.headline.startswith("Rank 2 never entered train.py:5;")


def test_in_such_a_script_a_root_that_gathers_a_line_further_on_is_of_the_crowd() -> None:
    def waits(line: int) -> Thread:
        return Thread("MainThread", (Frame("recv_into", SOCKET, 700), Frame("<module>", USER, line)), state="S", wait="socket")

    odd = Thread("MainThread", (Frame("<module>", USER, 9),), state="S", wait="lock")
    assert blamed({0: waits(6), 1: waits(5), 2: odd, 3: waits(5)}) == [2]


def test_who_waits_in_another_call_of_the_same_function_is_of_the_crowd() -> None:
    def swaps(call: str) -> Thread:
        return thread(Frame(call, SOCKET, 700), Frame("swap", USER, 37), wait="socket")

    assert blamed({0: swaps("sendall"), 1: swaps("recv_into"), 2: STUCK, 3: swaps("recv_into")}) == [2]


def test_an_event_loop_that_the_program_runs_itself_is_a_wait_like_others() -> None:
    loop = Frame("run_forever", "/usr/lib/python3.11/asyncio/base_events.py", 600)
    meets = thread(Frame("select", "/usr/lib/python3.11/selectors.py", 468), loop, Frame("meet", USER, 31), wait="poll")
    assert blamed({0: meets, 1: meets, 2: thread(Frame("load", USER, 61)), 3: meets}) == [2]


def test_peers_that_ask_for_each_other_between_short_sleeps_wait_although_they_compute_a_little() -> None:
    meets = thread(Frame("meet", USER, 31), wait="sleep")
    turns = replace(IDLE, cpu_percent=7.0, switches_s=18.0)
    assert blamed({0: meets, 1: meets, 2: STUCK, 3: meets}, turns) == [2]


def test_a_rank_without_a_process_is_who_a_crowd_of_all_others_waits_for() -> None:
    said = diagnose(run(dict.fromkeys((0, 1, 3), swap()), tuple(process(rank) for rank in (0, 1, 3))), SPEC, NOW)
    assert (said.kind, [culprit.rank for culprit in said.culprits]) == ("dead_process", [2])


def test_ranks_that_came_to_one_barrier_by_different_ways_parted() -> None:
    barrier = Frame("Barrier._wait", "/usr/lib/python3.11/threading.py", 690)
    ways = {rank: thread(barrier, Frame("data_sync" if rank == 3 else "tensor_sync", USER, 40 + rank)) for rank in range(4)}
    said = diagnose(run(ways, tuple(process(rank) for rank in range(4))), SPEC, NOW)
    assert (said.kind, [culprit.rank for culprit in said.culprits]) == ("desync", [3])
    assert "ranks 0-2 through tensor_sync but rank 3 through data_sync" in said.headline


def test_who_waits_for_a_queue_of_the_others_waits_for_who_stands_apart_too() -> None:
    queues = "/usr/lib/python3.11/multiprocessing/queues.py"
    empty = thread(Frame("recv_bytes", CONNECTION, 216), Frame("get", queues, 103), Frame("drain", USER, 36), wait="pipe")
    event = thread(Frame("wait", "/usr/lib/python3.11/threading.py", 320), Frame("load", USER, 61))
    processes = tuple(process(rank) for rank in range(4))
    said = diagnose(run({0: ALL_REDUCE, 1: ALL_REDUCE, 2: event, 3: empty}, processes), SPEC, NOW)
    assert [culprit.rank for culprit in said.culprits] == [2]


def test_a_peer_that_was_caught_while_it_looked_whether_the_others_have_come_is_of_the_crowd() -> None:
    recent = replace(IDLE, switches_s=10.0, main_cpu_part=0.002)
    asleep, looks = thread(Frame("meet", USER, 31), wait="sleep"), thread(Frame("meet", USER, 30), state="R")
    processes = tuple(process(rank, recent if rank != 2 else IDLE) for rank in range(4))
    state = run({0: asleep, 1: asleep, 2: STUCK, 3: asleep}, processes, later={0: asleep, 1: looks, 2: STUCK, 3: asleep})
    assert [culprit.rank for culprit in diagnose(state, SPEC, NOW).culprits] == [2]


@pytest.mark.parametrize(
    ("loop", "line", "word"),
    [
        pytest.param("ends", "env.step()", "slow", id="a for loop"),
        pytest.param("none", "time.sleep(0.05)", "slow", id="a library calls it again and again"),
        pytest.param("none", "db.execute(row)", "hung", id="compiled code asks whether something has come"),
        pytest.param("asks", "time.sleep(0.05)", "hung", id="it asks whether something has come"),
        pytest.param(None, "", "hung", id="its source cannot be read"),
    ],
)
def test_who_sleeps_for_moments_makes_steps_where_its_source_shows_no_question(loop: Loop | None, line: str, word: str) -> None:
    state = stepping(0.1, 2.0)
    place, outer = Frame("wait_for_frame", USER, 50), STEP
    known = ((place, loop, line), (outer, "none", ""))
    sources = tuple(Excerpt(frame.file, frame.line, (text,), at=frame.line, loop=found) for frame, found, text in known)
    looks = tuple(replace(look, excerpts=sources) for look in state.looks)
    assert diagnose(replace(state, looks=looks), SPEC, NOW).word == word


@pytest.mark.parametrize(("loop", "word"), [("ends", "slow"), ("asks", "hung")])
def test_who_is_woken_by_a_thread_of_its_own_again_and_again_gets_what_it_waits_for(loop: Loop, word: str) -> None:
    place = Frame("accumulate", USER, 50)
    waits = thread(Frame("get", "/usr/lib/python3.11/queue.py", 171), place)
    state = four(waits, process(2, replace(IDLE, switches_s=2.0)), silence_s=130)
    sources = tuple(Excerpt(frame.file, 1, (), at=frame.line, loop=found) for frame, found in ((place, loop), (STEP, "none")))
    looks = tuple(replace(look, excerpts=sources) for look in state.looks)
    assert diagnose(replace(state, looks=looks), SPEC, NOW).word == word


@pytest.mark.parametrize(("passed_b_s", "word"), [(300.0, "slow"), (0.0, "hung")])
def test_who_waits_for_a_pipe_is_fed_where_bytes_come(passed_b_s: float, word: str) -> None:
    recent = replace(IDLE, switches_s=5.0, passed_b_s=passed_b_s)
    fed = four(thread(Frame("next_sample", USER, 50), wait="pipe"), process(2, recent), silence_s=130)
    assert diagnose(fed, SPEC, NOW).word == word


def test_one_look_at_who_computes_is_no_proof_that_it_works() -> None:
    known = four(thread(Frame("crunch", USER, 70), state="R"), process(2, BUSY, "R"), silence_s=130)
    said = diagnose(replace(known, looks=known.looks[:1]), SPEC, NOW)
    assert said.word == "slow"
    assert "Do not kill it" not in said.headline


STUCK_ON_DISK = RecentActivity(
    seconds=10, samples=10, running_part=0.0, blocked_part=1.0, wchan="rpc_wait_bit", cpu_percent=0.0, io_b_s=0.0
)


@pytest.mark.parametrize(
    ("answers", "headline", "evidence"),
    [
        (False, "at /data/shard-7: /data is dead.", "/data (nfs4, nas:/data) does not answer statfs"),
        (True, "at /data/shard-7.", "/data (nfs4, nas:/data) answers statfs"),
        (None, "at /data/shard-7.", "/data (nfs4, nas:/data) was asked"),
    ],
)
def test_a_blocked_rank_is_told_with_its_mount_and_whether_that_answers(
    answers: bool | None, headline: str, evidence: str
) -> None:
    state = four(STUCK, process(2, STUCK_ON_DISK, "D", wchan="rpc_wait_bit"))
    assert state.procs is not None
    on = BlockedOn(102, "/data/shard-7", "/data", "nfs4", "nas:/data", answers)
    said = diagnose(replace(state, procs=replace(state.procs, blocked_on=(on,))), SPEC, NOW)
    assert (said.word, said.kind, [culprit.rank for culprit in said.culprits]) == ("hung", "io_blocked", [2])
    assert headline in said.headline
    assert any(evidence in fact.text for fact in said.evidence)


def test_a_wait_that_the_log_announced_is_no_hang_until_it_is_over() -> None:
    state = four(thread(Frame("back_off", USER, 70), wait="sleep"), silence_s=130)
    assert state.log is not None
    assert diagnose(replace(state, log=replace(state.log, announced_until=NOW + 60)), SPEC, NOW).word == "slow"
    assert diagnose(replace(state, log=replace(state.log, announced_until=NOW - 1)), SPEC, NOW).word == "hung"
