"""The machine beside the run: the tightest memory limit, out-of-memory kills, disks that fill."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.probe.storage.checkpoint_source import CheckpointSource
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.host import HostReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.machine import GROWTH_OVER_S, DiskSpace, GroupMemory, MachineReader, memory_limit
from hangtop.system.pressure import stalled_percent
from tests.fakes.launched import SLEEP
from tests.fakes.processes import python, running

GIB = 2**30


def tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def limit_of(folder: Path) -> tuple[int | None, int | None, int | None]:
    known = memory_limit(7, folder / "cgroup", folder / "proc")
    return known.limit_bytes, known.used_bytes, known.oom_kills


def test_in_version_2_the_group_on_the_way_up_that_has_the_least_left_counts(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "proc/7/cgroup": "0::/slice/job/step\n",
            "cgroup/slice/job/step/memory.max": "max\n",
            "cgroup/slice/job/step/memory.current": "100\n",
            "cgroup/slice/job/step/memory.events": "low 0\nhigh 0\noom 1\noom_kill 3\n",
            "cgroup/slice/job/memory.max": f"{8 * GIB}\n",
            "cgroup/slice/job/memory.current": f"{4 * GIB}\n",
            "cgroup/slice/memory.max": f"{64 * GIB}\n",
            "cgroup/slice/memory.current": f"{63 * GIB}\n",
            "cgroup/slice/memory.events": "oom_kill 4\n",
            "cgroup/memory.events": "oom_kill 90\n",
        },
    )
    assert limit_of(tmp_path) == (64 * GIB, 63 * GIB, 4)
    (tmp_path / "cgroup/slice/memory.current").write_text(f"{9 * GIB}\n")
    assert limit_of(tmp_path) == (8 * GIB, 4 * GIB, 3)


@pytest.mark.parametrize(
    ("version", "names"), [(2, ("inactive_file", "active_file")), (1, ("total_inactive_file", "total_active_file"))]
)
def test_files_that_are_only_cached_do_not_fill_a_limit(tmp_path: Path, version: int, names: tuple[str, str]) -> None:
    files = {
        2: {"proc/7/cgroup": "0::/job\n", "cgroup/job/memory.max": f"{8 * GIB}\n", "cgroup/job/memory.current": f"{8 * GIB}\n"},
        1: {
            "proc/7/cgroup": "4:memory:/job\n",
            "cgroup/memory/job/memory.limit_in_bytes": f"{8 * GIB}\n",
            "cgroup/memory/job/memory.usage_in_bytes": f"{8 * GIB}\n",
        },
    }[version]
    place = "cgroup/job" if version == 2 else "cgroup/memory/job"
    tree(tmp_path, {**files, f"{place}/memory.stat": f"anon 1\n{names[0]} {5 * GIB}\n{names[1]} {2 * GIB}\n"})
    assert limit_of(tmp_path)[:2] == (8 * GIB, GIB)


def test_in_version_1_no_limit_is_a_huge_number(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "proc/7/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n",
            "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "cgroup/memory/docker/abc/memory.limit_in_bytes": f"{4 * GIB}\n",
            "cgroup/memory/docker/abc/memory.usage_in_bytes": f"{GIB}\n",
            "cgroup/memory/docker/abc/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
        },
    )
    assert limit_of(tmp_path) == (4 * GIB, GIB, 2)


@pytest.mark.parametrize("cgroup", ["", "0::/gone\n", "not a line\n"])
def test_what_cannot_be_read_is_unknown(tmp_path: Path, cgroup: str) -> None:
    tree(tmp_path, {"proc/7/cgroup": cgroup, "cgroup/empty": ""})
    assert limit_of(tmp_path) == (None, None, None)


def test_in_a_container_the_path_of_the_group_may_not_exist_here(tmp_path: Path) -> None:
    tree(tmp_path, {"proc/7/cgroup": "0::/../outside\n", "cgroup/memory.max": f"{GIB}\n", "cgroup/memory.current": "5\n"})
    assert limit_of(tmp_path) == (GIB, 5, None)


def test_the_machine_is_read(tmp_path: Path) -> None:
    reading = MachineReader().read(os.getpid(), [str(tmp_path)], 100.0)
    assert reading.cores >= 1
    assert 0 < (reading.available_bytes or 0) <= (reading.memory_bytes or 0)
    (disk,) = reading.disks
    assert (disk.path, disk.problem, disk.growth_b_s) == (str(tmp_path), None, None)
    assert 0 <= disk.free_bytes <= disk.size_bytes


def test_the_pressure_of_the_group_counts_before_that_of_the_machine(tmp_path: Path) -> None:
    some = "some avg10=50.00 avg60=40.00 avg300=0.00 total=9\n"
    full = "full avg10=9.00 avg60={} avg300=0.00 total=9\n"
    tree(tmp_path, {"whole/memory": some + full.format("3.00"), "whole/io": some + full.format("12.50")})
    tree(tmp_path, {"group/memory.pressure": some + full.format("22.50")})
    told = [stalled_percent(resource, str(tmp_path / "group"), tmp_path / "whole") for resource in ("memory", "io", "irq")]
    assert told == [22.5, 12.5, None]


def test_a_disk_that_fills_has_a_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([1_000_000, 900_000, 400_000, 300_000])
    monkeypatch.setattr("hangtop.system.machine._space", lambda pid, path: DiskSpace(1, 2_000_000, next(free)))
    host = MachineReader()
    rates = [host.read(None, ["/data"], at).disks[0].growth_b_s for at in (0.0, 10.0, GROWTH_OVER_S, GROWTH_OVER_S + 10.0)]
    assert rates == [None, 10_000.0, 20_000.0, 10_000.0]


def test_another_disk_in_the_same_place_has_filled_by_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    spaces = iter([DiskSpace(1, 24 * GIB, 20 * GIB), DiskSpace(2, 1 << 26, 1 << 25)])
    monkeypatch.setattr("hangtop.system.machine._space", lambda pid, path: next(spaces))
    host = MachineReader()
    assert [host.read(None, ["/dev/shm"], at).disks[0].growth_b_s for at in (0.0, 5.0)] == [None, None]


def test_a_disk_that_is_not_there_is_left_out_and_one_that_does_not_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MachineReader().read(None, [str(tmp_path / "none")], 0.0).disks == ()
    answers = iter([{}, {"/nfs": DiskSpace(1, GIB, GIB)}, {}, {}, {}])
    monkeypatch.setattr("hangtop.system.guard.Guard.ask", lambda self, questions: next(answers))
    host = MachineReader()
    looks = [host.read(None, ["/nfs"], at).disks for at in (0.0, 5.0, 10.0, 15.0, 20.0)]
    assert [[disk.problem for disk in disks] for disks in looks] == [[], [None], [], [], ["the file system does not answer"]]


def test_a_rise_of_out_of_memory_kills_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kills = iter([4, 4, 5, 5])
    monkeypatch.setattr("hangtop.system.machine.counts", lambda path: {"oom_kill": next(kills)})
    host = MachineReader()
    assert [host.read(None, [], at).oom_at for at in (1.0, 2.0, 3.0, 4.0)] == [None, None, 3.0, 3.0]


def test_another_group_counts_other_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = iter([GroupMemory("/job", oom_kills=1), GroupMemory("/other", oom_kills=7), GroupMemory("/job", oom_kills=2)])
    monkeypatch.setattr("hangtop.system.machine.memory_limit", lambda pid: next(groups))
    monkeypatch.setattr("hangtop.system.machine.counts", lambda path: {"oom_kill": 40})
    host = MachineReader()
    assert [host.read(pid, [], at).oom_at for pid, at in ((7, 1.0), (8, 2.0), (None, 3.0), (7, 4.0))] == [None, None, None, 4.0]


def test_two_paths_on_one_file_system_are_one_disk(tmp_path: Path) -> None:
    (tmp_path / "ckpt").mkdir()
    (disk,) = MachineReader().read(os.getpid(), [str(tmp_path / "ckpt"), str(tmp_path)], 1.0).disks
    assert disk.path == str(tmp_path / "ckpt")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a file system")
def test_the_shared_memory_of_a_container_is_its_own() -> None:
    program = "mount -t tmpfs -o size=1m tmpfs /dev/shm && echo mounted && exec sleep 600"
    with running("unshare", "--mount", "sh", "-c", program, stdout=subprocess.PIPE) as inside:
        assert inside.stdout is not None
        if inside.stdout.readline() != b"mounted\n":
            pytest.skip("this machine does not let root mount a file system")
        (disk,) = MachineReader().read(inside.pid, ["/dev/shm"], 1.0).disks
    assert disk.size_bytes == 1 << 20


def test_the_disk_of_a_checkpoint_folder_that_was_found_is_watched(tmp_path: Path) -> None:
    log, folder = tmp_path / "train.log", tmp_path / "out"
    folder.mkdir()
    context = ProbeContext(WatchSpec(logs=(str(log),)))
    with log.open("wb") as out, python(SLEEP, "--save", str(folder), stdout=out):
        processes, checkpoints = ProcessSource(context), CheckpointSource(context)
        list(processes.read(1.0))
        assert any(isinstance(value, CheckpointReading) for value in checkpoints.read(2.0))
        (host,) = (value for value in processes.read(3.0) if isinstance(value, HostReading))
    assert str(folder) in {disk.path for disk in host.disks}
