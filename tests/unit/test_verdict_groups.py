"""Who waits for whom where ranks stand in tensor groups and pipeline stages: each is compared inside its own."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.check_report import report
from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.gpu import GpuReading, NodeGpus
from hangtop.records.health import SourceHealth
from hangtop.records.parallel_layout import ParallelLayout
from hangtop.records.process import Process, ProcessReading
from hangtop.records.stack import Frame, Thread
from hangtop.records.verdict import Verdict
from hangtop.state.run_state import RunState
from tests.fakes.members import ALL_REDUCE, BROADCAST, BUSY, C10D, CONNECTION, LOCK, NOW, PACK, SPEC, USER, process, run, thread

SOCKET = "/usr/lib/python3.11/socket.py"
RECV = thread(Frame("recv", C10D, 2200))
GATHER = thread(Frame("all_gather", C10D, 2200))


def pipe(function: str, line: int = 30) -> Thread:
    return thread(Frame("recv", CONNECTION, 250), Frame(function, USER, line), wait="pipe")


SUMS, ABOVE, BELOW = pipe("add_shards"), pipe("from_stage_above", 40), pipe("from_stage_below", 50)
ASKS = thread(Frame("recv_into", SOCKET, 700), Frame("ask_rewards", USER, 61), wait="socket")


def parallel(sizes: Mapping[str, int], threads: Mapping[int, Thread]) -> RunState:
    """A quiet run whose ranks stand in groups of these sizes, slowest first."""
    world = len(threads)
    state = run(dict(threads), tuple(process(rank, world=world) for rank in range(world)))
    assert state.log is not None
    return replace(state, log=replace(state.log, mesh=ParallelLayout(dict(sizes), tuple(sizes))))


def said(sizes: Mapping[str, int], *stages: list[Thread]) -> Verdict:
    return diagnose(parallel(sizes, dict(enumerate(thread for stage in stages for thread in stage))), SPEC, NOW)


def blamed(verdict: Verdict) -> tuple[str, list[int | None]]:
    return verdict.word, [culprit.rank for culprit in verdict.culprits]


TP4_PP2 = {"pp": 2, "tp": 4}


@pytest.mark.parametrize(
    ("waits", "links", "stuck"),
    [(ALL_REDUCE, RECV, LOCK), (SUMS, BELOW, LOCK), (SUMS, BELOW, ASKS), (ALL_REDUCE, BELOW, LOCK)],
    ids=["names that are known", "pipes", "asks a server", "both"],
)
def test_one_rank_of_a_tensor_group_is_stuck(waits: Thread, links: Thread, stuck: Thread) -> None:
    verdict = said(TP4_PP2, [links] * 4, [waits, stuck, waits, waits])
    assert blamed(verdict) == ("hung", [5])
    assert "Rank 5 (pp1 tp1) never entered" in verdict.headline
    assert "with its tensor group; 7 ranks wait" in verdict.headline
    assert verdict.culprits[0].why[1].startswith("pp1 tp1: not in the ")
    assert verdict.culprits[0].why[1].endswith("in which the rest of its tensor group waits, 4 6-7")


def test_a_wrong_call_is_found_inside_the_group_and_healthy_stages_that_wait_elsewhere_are_not_blamed() -> None:
    verdict = said(TP4_PP2, [RECV] * 4, [ALL_REDUCE, RECV, ALL_REDUCE, ALL_REDUCE])
    assert (verdict.kind, blamed(verdict)) == ("desync", ("hung", [5]))


def test_who_waits_for_a_rank_that_took_another_way_is_no_culprit() -> None:
    verdict = said(TP4_PP2, [ALL_REDUCE, BROADCAST, ALL_REDUCE, ALL_REDUCE], [ALL_REDUCE, RECV, ALL_REDUCE, ALL_REDUCE])
    assert blamed(verdict) == ("hung", [1])


@pytest.mark.parametrize("stuck", [LOCK, ASKS], ids=["lock", "server"])
def test_nor_is_who_waits_for_activations_of_a_stuck_rank(stuck: Thread) -> None:
    assert blamed(said(TP4_PP2, [SUMS, stuck, SUMS, SUMS], [SUMS, ABOVE, SUMS, SUMS])) == ("hung", [1])


def test_stages_that_wait_at_different_places_are_no_desync() -> None:
    verdict = said(TP4_PP2, [RECV] * 4, [ALL_REDUCE] * 4)
    assert (verdict.kind, blamed(verdict)) == ("cpu_collective", ("hung", []))
    assert "none stands out" in verdict.headline


def test_one_group_of_many_is_on_this_machine_and_has_its_odd_one() -> None:
    threads = {4: SUMS, 5: LOCK, 6: SUMS, 7: SUMS}
    state = run(threads, tuple(process(rank, world=16) for rank in threads))
    assert state.log is not None
    state = replace(state, log=replace(state.log, mesh=ParallelLayout({"pp": 4, "tp": 4}, ("pp", "tp"))))
    assert blamed(diagnose(state, SPEC, NOW)) == ("hung", [5])


TALKS = thread(Frame("recv_into", SOCKET, 700), Frame("add_shards", USER, 30), wait="socket")
NEXT = thread(Frame("recv_into", SOCKET, 700), Frame("from_stage_above", USER, 40), wait="socket")


def test_of_two_that_wait_alike_for_bytes_none_is_blamed_for_one_waits_for_the_other() -> None:
    verdict = said({"pp": 2, "dp": 2, "tp": 2}, [NEXT, NEXT, TALKS, ASKS], [NEXT, NEXT, NEXT, NEXT])
    assert blamed(verdict) == ("hung", [])
    assert "One of ranks 2-3 (pp0 dp1) never came; 6 ranks wait." in verdict.headline


def test_two_that_ask_one_silent_server_are_both_who_the_others_wait_for() -> None:
    assert blamed(said({"pp": 4, "tp": 2}, [ASKS, ASKS], [ABOVE] * 2, [ABOVE] * 2, [ABOVE] * 2)) == ("hung", [0, 1])


def test_of_two_the_one_that_waits_for_no_byte_is_the_odd_one() -> None:
    assert blamed(said({"pp": 2, "dp": 2, "tp": 2}, [NEXT, NEXT, TALKS, LOCK], [NEXT, NEXT, NEXT, NEXT])) == ("hung", [3])


def test_replicas_alone_are_a_crowd_like_any_other() -> None:
    assert blamed(said({"dp": 4}, [SUMS], [LOCK], [SUMS], [SUMS])) == ("hung", [1])


@pytest.mark.parametrize("stuck", [[LOCK, LOCK], [LOCK, SUMS]], ids=["the whole stage", "one rank of it"])
def test_the_first_stage_of_a_pipeline_is_stuck(stuck: list[Thread]) -> None:
    verdict = said({"pp": 4, "tp": 2}, stuck, [ABOVE, ABOVE], [ABOVE, ABOVE], [ABOVE, ABOVE])
    assert blamed(verdict) == ("hung", [rank for rank, main_thread in enumerate(stuck) if main_thread is LOCK])


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_pipeline_of_single_ranks_waits_for_the_one_that_waits_for_no_byte(at: int) -> None:
    ranks = [BELOW if rank < at else ABOVE for rank in range(3)]
    stage = [LOCK if rank == at else main_thread for rank, main_thread in enumerate(ranks)]
    assert blamed(said({"pp": 3}, stage)) == ("hung", [at])


def test_of_two_stages_the_one_that_waits_for_no_byte_is_who_the_other_waits_for() -> None:
    assert blamed(said({"pp": 2, "tp": 2}, [LOCK, LOCK], [ABOVE, ABOVE])) == ("hung", [0, 1])


def test_replicas_of_a_stage_are_compared_where_the_tensor_groups_tell_nothing() -> None:
    pairs = [[ALL_REDUCE, ALL_REDUCE], [ALL_REDUCE, BROADCAST], [ALL_REDUCE, ALL_REDUCE], [ALL_REDUCE, ALL_REDUCE]]
    assert blamed(said({"dp": 4, "tp": 2}, *pairs)) == ("hung", [3])


def test_two_odd_ones_that_look_alike_are_both_told() -> None:
    verdict = said({"dp": 2, "tp": 4}, [SUMS, LOCK, SUMS, SUMS], [SUMS, SUMS, LOCK, SUMS])
    assert blamed(verdict) == ("hung", [1, 6])


def test_a_pipeline_whose_every_stage_waits_for_bytes_blames_nobody() -> None:
    assert blamed(said({"pp": 4, "tp": 2}, [BELOW] * 2, [ABOVE] * 2, [ABOVE] * 2, [ABOVE] * 2)) == ("hung", [])


def test_a_stage_that_computes_is_why_the_others_wait() -> None:
    state = parallel({"pp": 2, "tp": 2}, {0: PACK, 1: PACK, 2: ABOVE, 3: ABOVE})
    assert state.procs is not None
    working = tuple(replace(member, recent=BUSY, state="R", subtree_cpu_percent=98.0) for member in state.procs.processes[:2])
    state = replace(state, procs=replace(state.procs, processes=(*working, *state.procs.processes[2:])))
    assert diagnose(state, SPEC, NOW).word == "slow"


def test_the_place_of_each_rank_is_in_the_report() -> None:
    snapshot = take_snapshot(parallel(TP4_PP2, dict.fromkeys(range(8), RECV)), SPEC, NOW)
    assert report(snapshot, diagnose(snapshot.state, SPEC, NOW)).ranks[5].place == {"pp": 1, "tp": 1}


def test_a_source_that_may_not_see_all_says_so_in_the_report_though_it_is_well() -> None:
    state = parallel(TP4_PP2, dict.fromkeys(range(8), RECV))
    hidden = Process(100, 1.0, 7, 99, "python", "python train.py", "S", missing_right="sudo hangtop")
    procs = ProcessReading(processes=(hidden,), missing_right="sudo hangtop")
    state = replace(state, health={"procs": SourceHealth("procs", read_at=NOW)}, procs=procs)
    told = report(take_snapshot(state, SPEC, NOW), diagnose(state, SPEC, NOW)).sources["procs"]
    assert (told.ok, told.problem) == (True, "1 process of this run hidden: sudo hangtop")


def test_a_driver_that_is_being_opened_is_not_well_yet() -> None:
    gpus = {"n1": NodeGpus(GpuReading(stuck_in="nvmlInit"), NOW)}
    state = replace(parallel(TP4_PP2, dict.fromkeys(range(8), RECV)), gpus=gpus, health={"gpu": SourceHealth("gpu", read_at=NOW)})
    told = report(take_snapshot(state, SPEC, NOW), diagnose(state, SPEC, NOW)).sources["gpu"]
    assert (told.ok, told.problem) == (False, "no GPU is known yet: nvmlInit has not returned")
