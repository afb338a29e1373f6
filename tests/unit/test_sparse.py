"""A recording of many processes grows by what changes, and plays as if all of it were there."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop import wire
from hangtop.records.process import Process, ProcessReading, Recent
from hangtop.records.reading import Reading
from hangtop.sparse import WHOLE_EVERY_S, Filler, Thinner


def process(pid: int, cpu: float = 0.0, seconds: float = 1.0, start_ticks: int = 5) -> Process:
    recent = Recent(seconds, int(seconds), 0.0, cpu_percent=cpu)
    return Process(pid, 0.0, start_ticks, 1, "python", "python train.py", "S", role="data worker", cpu_percent=cpu, recent=recent)


def second(at: float, busy: dict[int, float], count: int = 512, host: str = "n1") -> Reading:
    """One look at that many data workers."""
    processes = tuple(process(pid, busy.get(pid, 0.0), seconds=at) for pid in range(count))
    return Reading("procs", host, at, ProcessReading(processes=processes))


def timeless(reading: Reading) -> Reading:
    assert isinstance(reading.value, ProcessReading)
    still = tuple(
        replace(one, recent=replace(one.recent, seconds=0.0, samples=0)) for one in reading.value.processes if one.recent
    )
    return replace(reading, value=replace(reading.value, processes=still))


def test_what_is_played_is_what_was_recorded() -> None:
    session = [second(at, {at: 90.0, 3: float(at % 4)}) for at in range(1, 150)]
    thinner, filler = Thinner(), Filler()
    played = [filler.whole(wire.decode_reading(wire.encode(thinner.thin(reading)))) for reading in session]
    assert [timeless(reading) for reading in played] == [timeless(reading) for reading in session]


def test_idle_workers_cost_nothing_but_now_and_then() -> None:
    thinner = Thinner()
    sizes = [len(wire.encode(thinner.thin(second(at, {})))) for at in range(1, 121)]
    assert sum(size > 10_000 for size in sizes) == 120 / WHOLE_EVERY_S
    assert sorted(sizes)[-3] < 200


def test_processes_that_come_or_go_make_a_whole_reading_and_so_does_a_pid_used_again() -> None:
    thinner = Thinner()
    values = [thinner.thin(reading).value for reading in (second(1, {}), second(2, {}), second(3, {}, count=511))]
    assert [value.changes for value in values if isinstance(value, ProcessReading)] == [False, True, False]
    reused = second(4, {}, count=511)
    assert isinstance(reused.value, ProcessReading)
    first, *rest = reused.value.processes
    again = replace(reused, value=replace(reused.value, processes=(replace(first, start_ticks=9), *rest)))
    whole = thinner.thin(again).value
    assert isinstance(whole, ProcessReading)
    assert not whole.changes


def test_each_host_has_its_own_processes() -> None:
    thinner, filler = Thinner(), Filler()
    session = [second(at, {1: at}, count=3, host=host) for at in (1.0, 2.0, 3.0) for host in ("n1", "n2")]
    played = [filler.whole(thinner.thin(reading)) for reading in session]
    assert [timeless(reading) for reading in played] == [timeless(reading) for reading in session]
