"""A GPU over the life of a watch: its index stays, its last values stay, its past is bounded."""

from __future__ import annotations

from typing import Any

from hangtop.records import wire
from hangtop.records.gpu import Gpu, GpuReading, NodeGpus
from hangtop.records.reading import Reading
from hangtop.records.samples import SLOTS, Samples, add_recent, add_whole, points
from hangtop.state.gpu_history import fold_gpus
from hangtop.state.run_state import RunState, fold


def gpu(index: int, uuid: str | None = None, at: float | None = 100.0, **values: Any) -> Gpu:
    return Gpu(index, **{"status": "ok", "uuid": uuid or f"GPU-{index}", "read_at": at, "util_percent": 90.0, **values})


def after(*readings: GpuReading) -> NodeGpus:
    known: NodeGpus | None = None
    for at, reading in enumerate(readings, start=100):
        known = fold_gpus(known, reading, at)
    assert known is not None
    return known


def four() -> GpuReading:
    return GpuReading(gpus=tuple(gpu(i) for i in range(4)), driver="570.1")


def test_a_gpu_that_the_driver_leaves_out_keeps_its_row_and_the_others_their_numbers() -> None:
    fewer = GpuReading(gpus=(gpu(0), gpu(1, "GPU-2", util_percent=50.0), gpu(2, "GPU-3")))
    known = after(four(), fewer)
    assert [(g.index, g.uuid, g.status) for g in known.reading.gpus] == [
        (0, "GPU-0", "ok"), (1, "GPU-1", "lost"), (2, "GPU-2", "ok"), (3, "GPU-3", "ok"),
    ]  # fmt: skip
    assert known.reading.gpus[2].util_percent == 50
    assert known.reading.gpus[1].why == "the driver no longer lists it"
    back = fold_gpus(known, four(), 110)
    assert [g.status for g in back.reading.gpus] == ["ok"] * 4


def test_a_gpu_that_was_never_seen_gets_a_number_that_is_free() -> None:
    swapped = GpuReading(gpus=(gpu(0), gpu(1, "GPU-new"), gpu(2), gpu(3)))
    known = after(four(), swapped)
    assert [(g.index, g.uuid, g.status) for g in known.reading.gpus][-1] == (4, "GPU-new", "ok")
    assert known.reading.gpus[1].status == "lost"


def test_old_values_stay_when_a_new_probe_reaches_nothing() -> None:
    stuck = GpuReading(stuck_since=101.0, stuck_in="nvmlInit")
    known = after(four(), stuck)
    assert [(g.status, g.util_percent, g.read_at) for g in known.reading.gpus] == [("no answer", 90.0, 100.0)] * 4
    hanging = GpuReading(gpus=(*(gpu(i, at=102.0) for i in range(3)), Gpu(3, status="no answer", since=101.0)))
    known = after(four(), hanging)
    assert (known.reading.gpus[3].status, known.reading.gpus[3].util_percent, known.reading.gpus[3].uuid) == (
        "no answer",
        90.0,
        "GPU-3",
    )


def test_an_xid_is_not_forgotten_when_the_probe_starts_anew() -> None:
    fell = GpuReading(gpus=(gpu(0, status="lost", xid=79, xid_at=100.0),))
    assert after(fell, GpuReading(gpus=(gpu(0, at=101.0),))).reading.gpus[0].xid == 79


def test_history_holds_only_what_was_read_anew() -> None:
    known = after(four(), four(), four())
    assert points(known.tracks[0].util_percent) == ((105.0, 90.0),)
    assert known.tracks[0].util_percent.open_count == 1


def test_recent_samples_are_means_of_slots_and_bounded() -> None:
    samples = Samples(slot_s=10.0)
    for second in range(2000):
        samples = add_recent(samples, second, second)
    assert len(samples.means) == SLOTS
    assert samples.means[-1] == sum(range(1990, 2000)) / 10
    gap = add_recent(samples, 2035, 7.0)
    assert gap.means[-4:] == (None, None, None, 7.0)
    assert add_recent(samples, 10_000_000, 7.0).means == (7.0,)


def test_whole_samples_keep_the_start_however_long_the_watch() -> None:
    samples = Samples(slot_s=10.0)
    for minute in range(3 * 24 * 60):
        samples = add_whole(samples, 60.0 * minute, float(minute))
    first_at, first = points(samples)[0]
    assert len(samples.means) <= SLOTS
    assert first_at < 3600 * 2
    assert first < 120
    last_at, last = points(samples)[-1]
    assert abs(last_at / 60 - last) < 120


def test_whole_samples_keep_the_start_over_a_long_gap_as_well() -> None:
    samples = Samples(slot_s=10.0)
    for at, value in ((0.0, 1.0), (500.0, 2.0), (100_000.0, 3.0)):
        samples = add_whole(samples, at, value)
    assert [value for _, value in points(samples)] == [1.5, 3.0]
    assert len(samples.means) <= SLOTS


def test_readings_of_two_nodes_stand_apart_and_travel_over_the_wire() -> None:
    state = RunState()
    for host in ("n1", "n2"):
        line = wire.encode(Reading(source="gpu", host=host, at=100.0, value=four()))
        state = fold(state, wire.decode_reading(line))
    assert set(state.gpus) == {"n1", "n2"}
    assert state.gpus["n1"].reading == four()
    assert state.heard_at == 100.0
