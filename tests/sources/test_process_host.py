"""The machine beside the run: the tightest memory limit, out-of-memory kills, disks that fill."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hangtop.sources.proc.host import GROWTH_OVER_S, Host, memory_limit

GIB = 2**30


def tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_in_version_2_the_tightest_group_on_the_way_up_counts(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "proc/7/cgroup": "0::/slice/job/step\n",
            "cgroup/slice/job/step/memory.max": "max\n",
            "cgroup/slice/job/step/memory.current": "100\n",
            "cgroup/slice/job/step/memory.events": "low 0\nhigh 0\noom 1\noom_kill 3\n",
            "cgroup/slice/job/memory.max": f"{8 * GIB}\n",
            "cgroup/slice/job/memory.current": f"{7 * GIB}\n",
            "cgroup/slice/memory.max": f"{64 * GIB}\n",
            "cgroup/slice/memory.current": f"{9 * GIB}\n",
        },
    )
    assert memory_limit(7, tmp_path / "cgroup", tmp_path / "proc") == (8 * GIB, 7 * GIB, 3)


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
    assert memory_limit(7, tmp_path / "cgroup", tmp_path / "proc") == (4 * GIB, GIB, 2)


@pytest.mark.parametrize("cgroup", ["", "0::/gone\n", "not a line\n"])
def test_what_cannot_be_read_is_unknown(tmp_path: Path, cgroup: str) -> None:
    tree(tmp_path, {"proc/7/cgroup": cgroup, "cgroup/empty": ""})
    assert memory_limit(7, tmp_path / "cgroup", tmp_path / "proc") == (None, None, None)


def test_in_a_container_the_path_of_the_group_may_not_exist_here(tmp_path: Path) -> None:
    tree(tmp_path, {"proc/7/cgroup": "0::/../outside\n", "cgroup/memory.max": f"{GIB}\n", "cgroup/memory.current": "5\n"})
    assert memory_limit(7, tmp_path / "cgroup", tmp_path / "proc") == (GIB, 5, None)


def test_the_machine_is_read(tmp_path: Path) -> None:
    reading = Host().look(os.getpid(), [str(tmp_path)], 100.0)
    assert reading.cores >= 1
    assert 0 < (reading.available_bytes or 0) <= (reading.memory_bytes or 0)
    (disk,) = reading.disks
    assert (disk.path, disk.problem, disk.growth_b_s) == (str(tmp_path), None, None)
    assert 0 <= disk.free_bytes <= disk.size_bytes


def test_a_disk_that_fills_has_a_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([1_000_000, 900_000, 400_000, 300_000])
    monkeypatch.setattr("hangtop.sources.proc.host._space", lambda path: (2_000_000, next(free)))
    host = Host()
    rates = [host.look(None, ["/data"], at).disks[0].growth_b_s for at in (0.0, 10.0, GROWTH_OVER_S, GROWTH_OVER_S + 10.0)]
    assert rates == [None, 10_000.0, 20_000.0, 10_000.0]


def test_a_disk_that_is_not_there_is_left_out_and_one_that_does_not_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Host().look(None, [str(tmp_path / "none")], 0.0).disks == ()
    monkeypatch.setattr("hangtop.sources.proc.guard.Guard.ask", lambda self, questions: {})
    (disk,) = Host().look(None, ["/nfs"], 0.0).disks
    assert disk.problem == "the file system does not answer"


def test_a_rise_of_out_of_memory_kills_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kills = iter([4, 4, 5, 5])
    monkeypatch.setattr("hangtop.sources.proc.host._kills_of_machine", lambda: next(kills))
    host = Host()
    assert [host.look(None, [], at).oom_at for at in (1.0, 2.0, 3.0, 4.0)] == [None, None, 3.0, 3.0]
