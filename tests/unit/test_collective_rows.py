"""The counts of collectives on the stacks page."""

from __future__ import annotations

from hangtop.records.nccl import CommRank, Communicator, FlightDump, FlightGroup, NcclReading
from hangtop.render.collective_rows import collective_rows
from hangtop.render.spans import plain


def lines(reading: NcclReading) -> list[str]:
    return [plain(row) for row in collective_rows((reading,), {100 + rank: rank for rank in range(4)}, 100)]


def test_ranks_that_are_behind_come_first_and_say_by_how_many() -> None:
    members = tuple(CommRank(rank, 100 + rank, counts={"all_reduce": 41_207 if rank == 3 else 41_208}) for rank in range(4))
    title, behind, rest, _ = lines(NcclReading(communicators=(Communicator("0x7f2a", 4, members),)))
    assert "communicator 0x7f2a" in title
    assert behind.split() == ["▸", "3", "all_reduce", "41,207", "◂", "1", "behind"]
    assert rest.split() == ["0-2", "all_reduce", "41,208"]


def test_the_communicators_of_another_job_are_left_out() -> None:
    assert lines(NcclReading(communicators=(Communicator("0x1", 1, (CommRank(0, 7, counts={"all_reduce": 3}),)),))) == []


def test_the_dumps_of_the_flight_recorder_are_put_together_by_group() -> None:
    dumps = tuple(
        FlightDump(rank, "", 0.0, (FlightGroup("0", "default_pg", enqueued=3 if rank == 2 else 4, operation="all_reduce"),))
        for rank in range(4)
    )
    title, behind, rest, _ = lines(NcclReading(dumps=dumps))
    assert "default_pg" in title
    assert behind.split()[:4] == ["▸", "2", "all_reduce", "3"]
    assert rest.split() == ["0-1", "3", "all_reduce", "4"]


def test_nothing_known_shows_nothing() -> None:
    assert collective_rows((), {}, 80) == []
