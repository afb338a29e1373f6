"""Recordings of older hangtops, which hold what changes, play as if all of it were there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.feeds.replay import load
from hangtop.records import wire
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.process import Process, ProcessReading, RecentActivity, unchanged
from hangtop.records.ray.cluster import RayActor, RayCluster, RayNode, RayReading
from hangtop.records.reading import Changed, Reading
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.older_recorder import DeltaEncoder


def process(pid: int, cpu: float = 0.0, seconds: float = 1.0, start_ticks: int = 5) -> Process:
    recent = RecentActivity(seconds, int(seconds), 0.0, cpu_percent=cpu)
    return Process(pid, 0.0, start_ticks, 1, "python", "python train.py", "S", role="data worker", cpu_percent=cpu, recent=recent)


def second(at: float, busy: dict[int, float], count: int = 512, host: str = "n1") -> Reading:
    """One look at that many data workers."""
    processes = tuple(process(pid, busy.get(pid, 0.0), seconds=at) for pid in range(count))
    return Reading("procs", host, at, ProcessReading(processes=processes))


def timeless(reading: Reading | None) -> Reading:
    assert reading is not None
    assert isinstance(reading.value, ProcessReading)
    still = tuple(
        replace(worker, recent=replace(worker.recent, seconds=0.0, samples=0))
        for worker in reading.value.processes
        if worker.recent
    )
    return replace(reading, value=replace(reading.value, processes=still))


def gpus(at: float, **of_third: object) -> Reading:
    """One look at eight GPUs, of which all work at their own pace."""
    known = [
        Gpu(index, "ok", 0.0, read_at=at, util_percent=float((at * index) % 100), power_w=300.0 + index,
            used_bytes=60 << 30, throttle=("power cap",) if at % 2 else (), processes=(GpuProcess(100 + index, 60 << 30),))
        for index in range(8)
    ]  # fmt: skip
    known[3] = replace(known[3], **of_third)
    return Reading("gpu", "n1", at, GpuReading(gpus=tuple(known), driver="570"))


def cluster(at: float, *running: int, actors: int = 64) -> Reading:
    """A cluster whose actors `running` run a method since `at`."""
    members = tuple(
        RayActor("Worker", "running" if number in running else "idle", id=str(number), since=at if number in running else 1.0,
                 method="update" if number in running else None, resources={"GPU": 1.0, "CPU": float(number)})
        for number in range(actors)
    )  # fmt: skip
    nodes = (RayNode("a" * 56, "n1", used={"GPU": float(len(running))} if running else {}, total={"GPU": 8.0}),)
    return Reading("ray", "n1", at, RayReading((RayCluster("session_1", actors=members, nodes=nodes),)))


def lines(session: Sequence[Reading]) -> list[bytes]:
    """What an older hangtop recorded of this session."""
    encoder = DeltaEncoder()
    return [wire.encode(encoder.thin(reading)) for reading in session]


def played(written: Sequence[bytes], folder: Path) -> list[Reading | None]:
    path = folder / "older.hangtop"
    path.write_bytes(b"".join((wire.encode(wire.Header(1, "0.1.0", 0.0, WatchSpec())), *written)))
    return list(load(path).readings())


def test_processes_play_as_they_were_recorded(tmp_path: Path) -> None:
    session = [second(at, {at: 90.0, 3: float(at % 4)}) for at in range(1, 150)]
    assert [timeless(reading) for reading in played(lines(session), tmp_path)] == [timeless(reading) for reading in session]


def test_gpus_play_as_they_were_recorded(tmp_path: Path) -> None:
    lost = {"status": "lost", "why": "fell off the bus", "util_percent": None, "processes": (), "throttle": ()}
    session = [gpus(float(at), **(lost if 40 < at < 90 else {})) for at in range(1, 150)]
    session.insert(20, replace(gpus(20.5), value=GpuReading(stuck_since=20.0, stuck_in="nvmlInit")))
    assert played(lines(session), tmp_path) == session


def test_ray_plays_as_it_was_recorded(tmp_path: Path) -> None:
    session = [cluster(float(at), at % 64, 7, actors=64 + at // 50) for at in range(1, 150)]
    assert played(lines(session), tmp_path) == session


def test_the_health_of_the_sources_plays_as_it_was_recorded(tmp_path: Path) -> None:
    session = [
        Reading("probe", "n1", float(at), Heartbeat((SourceHealth("log", at - 0.1), SourceHealth("gpu", absent="no GPU"))))
        for at in range(9)
    ]
    assert played(lines(session), tmp_path) == session


def test_processes_that_come_or_go_play_and_so_does_a_pid_used_again(tmp_path: Path) -> None:
    session = [second(1, {}), second(2, {}), second(3, {}, count=511)]
    reused = second(4, {}, count=511)
    assert isinstance(reused.value, ProcessReading)
    first, *rest = reused.value.processes
    session.append(replace(reused, value=replace(reused.value, processes=(replace(first, start_ticks=9), *rest))))
    assert [timeless(reading) for reading in played(lines(session), tmp_path)] == [timeless(reading) for reading in session]


def test_each_host_has_its_own_processes(tmp_path: Path) -> None:
    session = [second(at, {1: at}, count=3, host=host) for at in (1.0, 2.0, 3.0) for host in ("n1", "n2")]
    assert [timeless(reading) for reading in played(lines(session), tmp_path)] == [timeless(reading) for reading in session]


@pytest.mark.parametrize(("lost", "silent"), [(0, 2), (1, 1), (2, 0)])
def test_after_a_lost_line_nothing_false_plays_until_the_next_whole_one(lost: int, silent: int, tmp_path: Path) -> None:
    """With 20 s between readings every third is whole."""
    session = [gpus(20.0 * number) for number in range(1, 7)]
    written = lines(session)
    assert [isinstance(wire.decode_reading(line).value, Changed) for line in written] == [False, True, True] * 2
    found = played([line for place, line in enumerate(written) if place != lost], tmp_path)
    assert found == session[:lost] + [None] * silent + session[3:]


def test_a_look_that_saw_nothing_new_is_told_apart_from_one_that_watched_for_longer() -> None:
    looks = [ProcessReading(processes=(process(1, seconds=seconds),)) for seconds in (29.9, 30.0, 31.0)]
    assert unchanged(looks[0], looks[1])
    assert not unchanged(looks[0], looks[2])
    assert not unchanged(looks[0], ProcessReading(processes=(process(1, cpu=3.0, seconds=30.0),)))
    assert not unchanged(looks[0], replace(looks[0], note="somebody is missing"))
    assert not unchanged(looks[0], ProcessReading())
