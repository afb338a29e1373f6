"""What is read of one process: memory, control groups, cores, the kernel's functions; and how it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.records.inspection import GroupLimits, HeldFile, InspectedThread, Inspection, Limit, Placement, Refused
from hangtop.records.waiting import BlockedCall, OtherEnd, TcpSocket, ThreadWait, WaitObject
from hangtop.render.processes.inspection_rows import inspection_rows
from hangtop.render.spans import plain
from hangtop.system.one_process.group_limits import group_limits
from hangtop.system.one_process.kernel_stack import parse_stack
from hangtop.system.one_process.memory_use import memory_use, parse_maps
from hangtop.system.one_process.placement import numbers, placement

MAPS = """\
55d0a000-55d0b000 r--p 00000000 fe:00 12 /usr/bin/python3.12
55d0b000-55d0f000 r-xp 00001000 fe:00 12 /usr/bin/python3.12
7f0000000000-7f0000100000 rw-s 00000000 00:01 77 /dev/shm/torch_4711 two words (deleted)
7f1000000000-7f1000200000 rw-p 00000000 00:00 0
7ffd0000-7ffd1000 rw-p 00000000 00:00 0 [stack]
"""


def test_the_parts_of_a_mapped_file_are_one_and_what_has_no_file_is_none():
    shared, python = parse_maps(MAPS)
    assert (shared.path, shared.size_bytes, shared.writable, shared.deleted) == (
        "/dev/shm/torch_4711 two words",
        1 << 20,
        True,
        True,
    )
    assert (python.path, python.size_bytes, python.writable) == ("/usr/bin/python3.12", 0x5000, False)


def test_memory_is_told_by_the_lines_of_status():
    use = memory_use({"VmRSS": "20 kB", "RssAnon": "12 kB", "VmSwap": "odd"})
    assert (use.rss_bytes, use.own_bytes, use.swap_bytes, use.locked_bytes) == (20 << 10, 12 << 10, None, None)


def test_a_list_of_cores_is_read_as_the_kernel_writes_it():
    assert numbers("0-3,8, 10-11") == {0, 1, 2, 3, 8, 10, 11}
    assert numbers("") == set()


def test_cores_are_told_with_their_numa_nodes(tmp_path: Path):
    for node, cpus in (("node0", "0-3"), ("node1", "4-7")):
        (tmp_path / node).mkdir()
        (tmp_path / node / "cpulist").write_text(cpus)
    placed = placement({"Cpus_allowed_list": "3-4", "Mems_allowed_list": "0"}, tmp_path)
    assert placed is not None
    assert (placed.cores, placed.nodes, placed.memory_nodes) == (2, (0, 1), "0")
    assert placement({}, tmp_path) is None


def test_the_functions_of_the_kernel_stand_without_their_offsets():
    assert parse_stack("[<0>] futex_wait_queue+0x70/0xd0\n[<0>] do_futex+0x1/0x2\n[<0>] 0xffffffff\n") == (
        "futex_wait_queue",
        "do_futex",
    )


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


class TestControlGroups:
    def test_in_version_2_the_tightest_quota_above_counts(self, tmp_path: Path):
        write(tmp_path / "proc" / "7", cgroup="0::/pod/app\n")
        write(tmp_path / "fs" / "pod" / "app", cpu__max="max 100000", pids__max="50", pids__current="49")
        write(
            tmp_path / "fs" / "pod", cpu__max="150000 100000", cpu__stat="nr_periods 10\nnr_throttled 4\nthrottled_usec 2500000"
        )
        found = group_limits(7, tmp_path / "fs", tmp_path / "proc")
        assert found is not None
        assert (found.path, found.cores, found.throttled_s) == ("/pod/app", 1.5, 2.5)
        assert (found.throttled_periods, found.periods, found.tasks, found.most_tasks) == (4, 10, 49, 50)

    def test_in_version_1_each_controller_has_its_own_tree(self, tmp_path: Path):
        write(tmp_path / "proc" / "7", cgroup="3:cpu,cpuacct:/job\n2:memory:/job\n")
        write(
            tmp_path / "fs" / "cpu" / "job",
            cpu__cfs_quota_us="50000",
            cpu__cfs_period_us="100000",
            cpu__stat="throttled_time 3000000000",
        )
        found = group_limits(7, tmp_path / "fs", tmp_path / "proc")
        assert found is not None
        assert (found.path, found.cores, found.throttled_s) == ("/job", 0.5, 3.0)

    def test_without_a_quota_none_is_told(self, tmp_path: Path):
        write(tmp_path / "proc" / "7", cgroup="3:cpu:/\n")
        write(tmp_path / "fs" / "cpu", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
        found = group_limits(7, tmp_path / "fs", tmp_path / "proc")
        assert found is not None
        assert found.cores is None
        assert group_limits(8, tmp_path / "fs", tmp_path / "proc") is None


SOCKET = WaitObject("tcp", True, True, 5, local="10.0.0.1:40", remote="10.0.0.2:29500", tcp_state="established")
SEEN = Inspection(
    1,
    100,
    at=50.0,
    command="python train.py",
    environment={"RANK": "3", "LD_PRELOAD": ""},
    limits=(Limit("nofile", 1024, 4096, used=1000), Limit("nproc", None, None), Limit("rttime", 3, 3)),
    files=(
        HeldFile(9, "socket:[5]", OtherEnd(SOCKET, (200,))),
        HeldFile(3, "/data/a.bin", OtherEnd(WaitObject("file", True)), 2048),
    ),
    sockets={
        5: TcpSocket(5, SOCKET.local, SOCKET.remote, "established", 0, 7, 90, acked_bytes=11, received_bytes=4, retransmits=6)
    },
    group=GroupLimits("/job", cores=1.5, throttled_s=90.0, throttled_periods=45, periods=50),
    placement=Placement("0", 1, 64, (0,)),
    threads=(
        InspectedThread(
            "python", ThreadWait(BlockedCall(100, 100, "S", "receive", "recvfrom"), (OtherEnd(SOCKET, (200,)),)), 4.0
        ),
        *(InspectedThread("pool", ThreadWait(BlockedCall(100, tid, "S", "futex", "futex"))) for tid in (101, 102)),
        InspectedThread("io", ThreadWait(BlockedCall(100, 103, "D", wchan="nfs_wait")), kernel=("nfs_wait", "vfs_read")),
    ),
    others={200: "/opt/python serve.py"},
    refused=(
        Refused("environment", "not permitted", "sudo hangtop inspect 100"),
        Refused("files", "not permitted", "sudo hangtop inspect 100"),
    ),
)


class TestShown:
    @pytest.fixture
    def lines(self) -> list[str]:
        return [plain(row) for row in inspection_rows(SEEN, 200)]

    def test_the_main_thread_has_a_line_of_its_own_and_threads_alike_share_one(self, lines: list[str]):
        assert any(
            line.startswith("main thread") and "in recvfrom: tcp 10.0.0.1:40 → 10.0.0.2:29500 ⇄ pid 200 python serve.py" in line
            for line in lines
        )
        assert any(line.startswith("pool × 2") for line in lines)
        assert any("in the kernel: nfs_wait ← vfs_read" in line for line in lines)

    def test_a_socket_tells_what_is_on_its_way(self, lines: list[str]):
        row = next(line for line in lines if line.lstrip().startswith("9 "))
        assert (
            "established  7 B not read yet  90 B not acknowledged  sent again 6 times, without an answer  received 4 B, sent 10 B"
            in row
        )
        assert any("/data/a.bin" in line and "at 2.0 K" in line for line in lines)

    def test_only_limits_that_hold_are_shown_and_one_that_is_nearly_reached_in_red(self, lines: list[str]):
        assert any("1,000 of 1,024  (up to 4,096)" in line for line in lines)
        assert not any("processes of the user" in line or "rttime" in line for line in lines)
        near = next(row for row in inspection_rows(SEEN, 120) if any("1,000 of" in text for text, _ in row))
        assert ("1,000 of 1,024", "bad") in near

    def test_the_quota_says_how_long_it_stopped_the_process(self, lines: list[str]):
        assert any("1.5 cores; it stood still for 1:30, in 90% of the periods" in line for line in lines)
        assert any("0: 1 of 64, NUMA node 0" in line for line in lines)

    def test_parts_refused_for_one_reason_share_a_line_with_the_command_that_mends_it(self, lines: list[str]):
        at = lines.index("environment, files: not permitted")
        assert lines[at + 1] == "  sudo hangtop inspect 100"

    def test_a_long_variable_is_shown_whole(self):
        path = ":".join(f"/opt/part{number}/bin" for number in range(40))
        lines = [plain(row) for row in inspection_rows(replace(SEEN, environment={"PATH": path}), 80)]
        at = next(number for number, line in enumerate(lines) if line.startswith("PATH="))
        end = next(number for number in range(at + 1, len(lines)) if not lines[number].startswith("  "))
        assert "".join(line.strip() for line in lines[at:end]) == f"PATH={path}"

    def test_a_rank_is_called_by_its_number(self):
        lines = [plain(row) for row in inspection_rows(SEEN, 120, {200: "rank 1"})]
        assert any("⇄ pid 200 rank 1" in line for line in lines)

    def test_of_a_process_that_is_gone_only_that_is_said(self):
        assert [plain(row) for row in inspection_rows(Inspection(1, 2, problem="the process is gone"), 80)] == [
            "the process is gone"
        ]
