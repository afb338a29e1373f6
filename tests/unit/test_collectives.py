"""Who is behind in its collectives: read from NCCL's status in both its forms, and from flight recorder dumps."""

from __future__ import annotations

import json

import pytest

from hangtop.diagnosis.facts.collective_counts import behind, behind_in_flight
from hangtop.probe.nccl.nccl_source import ras_addresses
from hangtop.probe.nccl.ras import ADDRESS, RasError, read
from hangtop.records.nccl import CommRank, Communicator, FlightDump, FlightGroup

REPORT = """NCCL version 2.26.2 compiled with CUDA 12.8
CUDA runtime version 12080, driver version 12080

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      1          8            1          8        8

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         8         8         8   RUNNING  MISMATCH
    1         1         1         4         4         4   RUNNING  INCOMPLETE

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 9005 on node n1 managing GPU 5

#1-0 (00000000000000bb) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 2 -- GPU 5 managed by process 9005 on node n1

Warnings
========

#0-0 (00000000000000aa) MISMATCH
  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation 41208
  Rank 3 has launched up to operation 41207 -- GPU 3 managed by process 9003 on node n1
  Communicator ranks have different AllGather operation counts
  6 ranks have launched up to operation 12
  2 ranks have not launched any operations
  Rank 3 -- GPU 3 managed by process 9003 on node n1
  Rank 4 -- GPU 4 managed by process 9004 on node n1
"""
OLDER = """Job summary
===========
Communicators... (0.00s)
#0-0 (27a0) MISMATCH
  Communicator ranks have different collective operation counts
  3 ranks have launched up to operation 50
  1 ranks have launched up to operation 49
  Rank 0 -- GPU 0 managed by process 70 on node n1

#0-1 (27b0) INCOMPLETE
  Missing communicator data from 2 ranks
  The missing ranks: 2, 3
"""


def rank(number: int, pid: int, counts: dict[str, int], **status: object) -> dict[str, object]:
    return {"rank": number, "host": "n1", "pid": pid, "nvml_dev": number, "status": status, "collective_counts": counts}


def status(*ranks: dict[str, object], missing: tuple[dict[str, object], ...] = ()) -> str:
    comm = {"hash": "0xaa", "size": 4, "ranks_count": len(ranks), "ranks": ranks, "missing_ranks": missing}
    return json.dumps({"nccl_version": "2.29.1", "communicators_count": 1, "communicators": [comm], "ras": {"timeouts_count": 0}})


def test_json_tells_every_rank_and_who_is_behind() -> None:
    most = {"AllReduce": 8, "AllGather": 2}
    communicators, version = read(status(rank(0, 100, most), rank(1, 101, {**most, "AllReduce": 7}), rank(2, 102, most)))
    assert version == "2.29.1"
    (late,) = behind(communicators)
    assert (late.rank, late.pid, late.text, late.frozen) == (1, 101, "launched 7 of 8 AllReduce", None)


def test_who_called_another_operation_than_its_peers_is_short_of_theirs_and_they_of_nothing() -> None:
    called = {"AllReduce": 8, "Broadcast": 0}
    parted = rank(2, 102, {"AllReduce": 7, "Broadcast": 1})
    communicators, _ = read(status(rank(0, 100, called), rank(1, 101, called), parted, rank(3, 103, called)))
    assert [(member.rank, member.text) for member in behind(communicators)] == [(2, "launched 7 of 8 AllReduce")]


def test_nobody_is_short_where_halves_called_different_operations() -> None:
    called, other = {"AllReduce": 8, "Broadcast": 0}, {"AllReduce": 7, "Broadcast": 1}
    communicators, _ = read(status(rank(0, 100, called), rank(1, 101, called), rank(2, 102, other), rank(3, 103, other)))
    assert behind(communicators) == ()


def test_json_tells_who_does_not_answer() -> None:
    missing = ({"rank": 3, "host": "n1", "pid": 103, "status": {"unresponsive": True, "considered_dead": False}},)
    communicators, _ = read(status(rank(0, 100, {"AllReduce": 8}), missing=missing))
    assert communicators[0].ranks[1] == CommRank(3, 103, "n1", None, "missing")
    (late,) = behind(communicators)
    assert late.text == "does not answer NCCL (missing)"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"init_state": 0}, "ok"),
        ({"init_state": 7}, "init"),
        ({"init_state": 2}, "error"),
        ({"async_error": 6}, "error"),
        ({"finalize_called": True}, "finalizing"),
        ({"abort_flag": True, "async_error": 6}, "aborted"),
    ],
)
def test_the_status_of_a_rank(flags: dict[str, object], told: str) -> None:
    communicators, _ = read(status(rank(0, 100, {}, **flags)))
    assert communicators[0].ranks[0].status == told


def test_the_report_for_people_tells_the_odd_ones() -> None:
    communicators, version = read(REPORT)
    assert version == "2.26.2"
    by_id = {communicator.id: communicator for communicator in communicators}
    mismatch, incomplete = by_id["00000000000000aa"], by_id["00000000000000bb"]
    assert mismatch.most == {"AllReduce": 41208, "AllGather": 12}
    assert mismatch.ranks == (
        CommRank(3, 9003, "n1", 3, "ok", {"AllReduce": 41207, "AllGather": 0}),
        CommRank(4, 9004, "n1", 4, "ok", {"AllGather": 0}),
    )
    assert incomplete.ranks == (CommRank(2, 9005, "n1", 5, "missing"),)


def test_the_older_report_counts_all_collectives_together() -> None:
    communicators, version = read(OLDER)
    assert version is None
    assert communicators[0].ranks == (CommRank(0, 70, "n1", 0, "ok", {"collective": 49}),)
    assert [comm_rank.rank for comm_rank in communicators[1].ranks] == [2, 3]
    assert {member.text for member in behind(communicators)} == {"launched 49 of 50 collective", "does not answer NCCL (missing)"}


@pytest.mark.parametrize("answer", ["", "HTTP/1.1 400 Bad Request", '{"communicators": 3}', '{"communicators": ['])
def test_anything_else_is_one_clear_line(answer: str) -> None:
    with pytest.raises(RasError, match=r"^NCCL's RAS said what this hangtop cannot read"):
        read(answer)


def test_a_healthy_report_has_nobody_behind() -> None:
    communicators, _ = read("Job summary\n===========\nCommunicators... (0.00s)\n")
    assert behind(communicators) == ()


def test_behind_is_frozen_only_when_nothing_rose_between_two_looks() -> None:
    def look(slow: int, most: int) -> tuple[Communicator, ...]:
        ranks = (CommRank(0, counts={"AllReduce": most}), CommRank(1, counts={"AllReduce": slow}))
        return (Communicator("aa", 2, ranks, {"AllReduce": most}),)

    assert [member.frozen for member in behind(look(7, 8), look(7, 8))] == [True]
    assert [member.frozen for member in behind(look(7, 8), look(6, 7))] == [False]
    assert [member.frozen for member in behind(look(7, 9), look(7, 8))] == [False]
    assert [member.frozen for member in behind(look(7, 8))] == [None]
    assert behind(look(8, 8), look(7, 8)) == ()


def test_the_flight_recorder_names_the_rank_with_the_lowest_number_in_its_group() -> None:
    def dump(number: int, enqueued: int, operation: str = "all_reduce") -> FlightDump:
        return FlightDump(number, "", 0.0, (FlightGroup("0", "default_pg", enqueued, enqueued - 1, operation, "scheduled"),))

    (late,) = behind_in_flight([dump(0, 4), dump(1, 4), dump(2, 3, "broadcast"), dump(3, 4)])
    assert (late.rank, late.text) == (2, "launched 3 of 4 all_reduce")
    assert behind_in_flight([dump(2, 3)]) == ()
    assert behind_in_flight([dump(0, 4), dump(1, 4)]) == ()


def test_who_waits_in_a_collective_of_its_own_is_not_behind_although_others_enqueued_more() -> None:
    def dump(number: int, enqueued: int, completed: int | None) -> FlightDump:
        return FlightDump(number, "", 0.0, (FlightGroup("0", "default_pg", enqueued, completed, "all_reduce", "scheduled"),))

    late = behind_in_flight([dump(0, 42, 40), dump(1, 41, 40), dump(2, 40, 40), dump(3, 41, 40)])
    assert [member.rank for member in late] == [2]
    late = behind_in_flight([dump(0, 42, None), dump(1, 41, None), dump(2, 40, None), dump(3, 41, None)])
    assert [member.rank for member in late] == [2]
    assert behind_in_flight([dump(0, 42, 40), dump(1, 41, 40), dump(2, 41, 40)]) == ()


def test_nor_by_nccls_counts() -> None:
    counts = [rank(number, 100 + number, {"AllReduce": count}) for number, count in enumerate((42, 41, 40, 41))]
    assert [member.rank for member in behind(read(status(*counts))[0])] == [2]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("localhost:28028", ("localhost", 28028)),
        ("[::1]:28100", ("::1", 28100)),
        ("n1:0", None),
        ("n1", None),
        ("", None),
        ("n1:many", None),
    ],
)
def test_the_address_in_the_environment(given: str, address: tuple[str, int] | None) -> None:
    assert ras_addresses([{"NCCL_RAS_ADDR": given}]) == (address or ADDRESS,)
