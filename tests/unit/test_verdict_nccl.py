"""NCCL's counts and the flight recorder in the verdict: they name a rank where stacks show all alike."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.nccl import CommRank, Communicator, FlightDump, FlightGroup, NcclReading
from tests.fakes.members import ALL_REDUCE, LOCK, NOW, SPEC, four


def nccl(at: float, count: int, pid: int = 102) -> NcclReading:
    """Rank 2 of the communicator has launched `count` of 41 collectives."""
    members = (CommRank(0, pid=100, counts={"AllReduce": 41}), CommRank(2, pid=pid, counts={"AllReduce": count}))
    return NcclReading(at=at, communicators=(Communicator("0x7f", 4, members, {"AllReduce": 41}),))


def test_nccl_counts_name_the_rank_where_stacks_show_all_alike() -> None:
    stuck = diagnose(four(ALL_REDUCE, nccl=(nccl(NOW - 20, 40), nccl(NOW - 10, 40))), SPEC, NOW)
    assert (stuck.word, stuck.kind, [culprit.rank for culprit in stuck.culprits]) == ("hung", "nccl", [2])
    assert "launched 40 of 41 AllReduce" in stuck.headline
    assert stuck.culprits[0].why == ("launched 40 of 41 AllReduce",)


def test_nccl_counts_are_one_more_reason_against_the_rank_whose_stack_is_elsewhere_and_against_no_other() -> None:
    looks = (nccl(NOW - 20, 40), nccl(NOW - 10, 40))
    assert "launched 40 of 41 AllReduce" in diagnose(four(LOCK, nccl=looks), SPEC, NOW).culprits[0].why
    other = tuple(nccl(look.at, 40, pid=103) for look in looks)
    assert "launched 40 of 41 AllReduce" not in diagnose(four(LOCK, nccl=other), SPEC, NOW).culprits[0].why


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param((nccl(NOW - 10, 40),), id="one look: a run in motion differs too"),
        pytest.param((nccl(NOW - 20, 39), nccl(NOW - 10, 40)), id="its count rises"),
        pytest.param((nccl(NOW - 20, 40, pid=999), nccl(NOW - 10, 40, pid=999)), id="another job on this node"),
    ],
)
def test_nccl_counts_that_prove_nothing(looks: tuple[NcclReading, ...]) -> None:
    assert diagnose(four(ALL_REDUCE, nccl=looks), SPEC, NOW).culprits == ()


def test_a_flight_recorder_dump_names_the_rank_that_enqueued_less_unless_it_is_old() -> None:
    dumps = tuple(
        FlightDump(rank, f"/tmp/fr_{rank}", NOW - 5, (FlightGroup("0", enqueued=3 if rank == 2 else 4),)) for rank in range(4)
    )
    fresh = diagnose(four(ALL_REDUCE, nccl=(NcclReading(at=NOW, dumps=dumps),)), SPEC, NOW)
    assert [culprit.rank for culprit in fresh.culprits] == [2]
    old = tuple(replace(dump, at=NOW - 900) for dump in dumps)
    assert diagnose(four(ALL_REDUCE, nccl=(NcclReading(at=NOW, dumps=old),)), SPEC, NOW).culprits == ()
