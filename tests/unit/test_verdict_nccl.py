"""NCCL's counts and the flight recorder in the verdict: they name a rank where stacks show all alike."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.nccl import CommRank, Communicator, FlightDump, FlightGroup, NcclReading, add_look
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


def asked(called_s: float, **more: FlightGroup) -> NcclReading:
    """What ranks told that were asked a second ago: rank 2 never called the collective that the others called then."""
    group = FlightGroup("0", enqueued=4, completed=3, operation="all_reduce", backend="gloo", called_at=NOW - called_s)
    behind = replace(group, enqueued=3)
    dumps = tuple(FlightDump(rank, f"http://n1:{rank}", NOW - 1, (behind if rank == 2 else group,), True) for rank in range(4))
    return NcclReading(NOW, dumps=(*dumps, *(FlightDump(0, name, NOW - 1, (group,)) for name, group in more.items())))


def test_ranks_that_were_asked_name_the_one_for_which_they_wait_longer_than_silence_may_last() -> None:
    verdict = diagnose(four(ALL_REDUCE, nccl=(asked(900),)), SPEC, NOW)
    assert (verdict.word, [culprit.rank for culprit in verdict.culprits]) == ("hung", [2])
    assert verdict.culprits[0].why == ("launched 3 of 4 all_reduce",)


def test_ranks_of_a_run_that_goes_on_differ_and_nobody_is_named() -> None:
    assert diagnose(four(ALL_REDUCE, nccl=(asked(1),)), SPEC, NOW).culprits == ()


def test_each_backend_of_a_group_counts_its_own() -> None:
    other = FlightGroup("0", enqueued=9_000, completed=9_000, operation="all_reduce", backend="nccl", called_at=NOW - 900)
    look = asked(900)
    both = tuple(replace(dump, groups=(*dump.groups, other)) for dump in look.dumps)
    verdict = diagnose(four(ALL_REDUCE, nccl=(replace(look, dumps=both),)), SPEC, NOW)
    assert [culprit.rank for culprit in verdict.culprits] == [2]


def test_an_older_file_of_a_rank_that_was_asked_says_nothing() -> None:
    old = FlightGroup("0", enqueued=1, operation="all_reduce", backend="gloo")
    assert [culprit.rank for culprit in diagnose(four(ALL_REDUCE, nccl=(asked(900, file=old),)), SPEC, NOW).culprits] == [2]


def test_files_and_ranks_that_were_asked_each_replace_their_own() -> None:
    file = FlightDump(1, "/tmp/fr_1", NOW - 5)
    looks = add_look(add_look((), NcclReading(NOW, dumps=(file,), note="n")), asked(900))
    assert looks[-1].dumps[0] == file
    assert (len(looks[-1].dumps), looks[-1].note) == (5, "n")
    assert [dump.asked for dump in add_look(looks, NcclReading(NOW + 9))[-1].dumps] == [True] * 4
