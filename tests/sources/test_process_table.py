"""The process table itself: what the kernel writes, what psutil tells, thousands of processes, sockets, other worlds' trees."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.processes.log_writers import WatchedFiles
from hangtop.probe.processes.process_source import ProcessSource
from hangtop.probe.processes.rendezvous_sockets import rendezvous_of
from hangtop.records.process import ProcessReading
from hangtop.records.watch_spec import KeptPipe, WatchSpec
from hangtop.system.network.connections import parse_connections
from hangtop.system.processes import linux
from hangtop.system.processes.linux import LinuxTable, parse_stat, read_stat
from hangtop.system.processes.portable import PortableTable
from hangtop.system.processes.roles import role_by_name
from hangtop.system.processes.table import Details, OpenFile, ProcessTable, Stat
from hangtop.system.processes.tree import children_of, left_behind, preorder, with_launchers
from tests.fakes.processes import eventually, python, running

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

LINE = b"%d (%s) %s 10 7 7 0 -1 4194304 1 0 0 0 30 12 0 0 20 0 5 0 1234 9999 250 " + b"0 " * 27 + b"1792"


@pytest.mark.parametrize("name", [b"python", b"a) S 1 (b", b"with space", b"\xff\xfe", b")))", b""])
def test_a_name_may_hold_anything(name: bytes) -> None:
    stat = parse_stat(LINE % (7, name, b"S"))
    assert (stat.pid, stat.state, stat.ppid, stat.cpu_ticks, stat.threads, stat.start_ticks) == (7, "S", 10, 42, 5, 1234)
    assert stat.name == name.decode("utf-8", "replace")
    assert stat.exit_status is None


def test_only_a_zombie_has_an_exit_status() -> None:
    assert parse_stat(LINE % (7, b"python", b"Z")).exit_status == 1792


@linux_only
@pytest.mark.parametrize("make", [LinuxTable, PortableTable])
def test_both_tables_know_this_process_alike(make: type[ProcessTable], tmp_path: Path) -> None:
    table = make()
    with (tmp_path / "held").open("wb"):
        table.refresh(())
        own = table.stats[os.getpid()]
        assert (own.ppid, own.name) == (os.getppid(), Path("/proc/self/comm").read_text().strip())
        assert abs(table.started_at(own.start_ticks) - LinuxTable().started_at(read_stat(os.getpid()).start_ticks)) < 1.5  # type: ignore[union-attr]
        assert table.owner(own.pid) == os.geteuid()
        assert list(table.command(own.pid)) == Path("/proc/self/cmdline").read_text().split("\0")[:-1]
        assert table.environ(own.pid)["PATH"] == os.environ["PATH"]
        assert any(file.target == str(tmp_path / "held") and file.writable for file in table.open_files(own.pid))
        time.sleep(0.01)  # one switch at least
        assert (table.details(own.pid).switches or 0) > 0
        assert own.rss_bytes > 2**20


@linux_only
@pytest.mark.parametrize("make", [LinuxTable, PortableTable])
def test_a_process_that_is_gone_is_an_error_of_the_system(make: type[ProcessTable]) -> None:
    table = make()
    gone = 2**22 + 1
    for ask in (table.command, table.environ, table.open_files, table.details):
        with pytest.raises(OSError, match=r".*"):
            ask(gone)
    assert table.owner(gone) is None


@linux_only
def test_without_proc_the_writer_is_found_through_psutil(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as out, python("import time; time.sleep(600)", stdout=out) as trainer:
        source = ProcessSource(ProbeContext(WatchSpec(logs=(str(log),))), PortableTable())

        def writers() -> list[int]:
            readings = (value for value in source.read(time.time()) if isinstance(value, ProcessReading))
            return [writer.pid for reading in readings for writer in reading.writers]

        assert eventually(writers) == [trainer.pid]


class Crowd:
    """A table of many processes that nobody knows, and one run among them. Counts how often details are asked."""

    ticks_per_s = 100

    def __init__(self, log: Path, others: int) -> None:
        self._stats = {pid: Stat(pid, "sleep", "S", 2, pid, pid, 10) for pid in range(100_000, 100_000 + others)}
        self._stats[50] = Stat(50, "python", "S", 2, 50, 50, 20)
        self._stats.update({51 + k: Stat(51 + k, "python", "S", 50, 50, 50, 30) for k in range(8)})
        self._log = OpenFile(1, str(log), writable=True)
        self.asked: list[int] = []
        self.files_asked = 0

    @property
    def stats(self) -> Mapping[int, Stat]:
        return self._stats

    def refresh(self, watched: object) -> None: ...

    def started_at(self, start_ticks: int) -> float:
        return start_ticks / 100

    def owner(self, pid: int) -> int | None:
        return os.geteuid()

    def command(self, pid: int) -> tuple[str, ...]:
        self.asked.append(pid)
        return ("python", "train.py")

    def environ(self, pid: int) -> Mapping[str, str]:
        return {"RANK": str(pid - 51), "WORLD_SIZE": "8"} if 51 <= pid < 59 else {}

    def cwd(self, pid: int) -> str:
        return "/"

    def open_files(self, pid: int) -> tuple[OpenFile, ...]:
        self.files_asked += 1
        return (self._log,) if pid == 50 else ()

    def inode(self, pid: int, fd: int) -> int | None:
        return None

    def details(self, pid: int) -> Details:
        self.asked.append(pid)
        return Details(uid=os.geteuid())


def test_among_two_thousand_processes_only_the_run_is_asked_for_details(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.touch()
    table = Crowd(Path(os.path.realpath(log)), others=2_000)
    source = ProcessSource(ProbeContext(WatchSpec(logs=(str(log),))), table)
    readings = [value for look in range(6) for value in source.read(1_000.0 + look) if isinstance(value, ProcessReading)]
    assert len([process for process in readings[-1].processes if process.role == "rank"]) == 8
    assert set(table.asked) == set(range(50, 59))
    first, later = 2_009, table.files_asked - 2_009
    assert later < first / 2, "who holds what is asked of all once, then of a share of them"


def test_sockets_of_both_ip_versions_are_read() -> None:
    tail = "00000000:00000000 00:00000000 00000000     0        0"
    six = "00000000000000000000000001000000"
    text = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        f"   0: 0100007F:733C 00000000:0000 0A {tail} 111 1 0000000000000000 100 0 0 10 0\n"
        f"   1: 0100007F:733C 0100007F:D431 01 {tail} 222 1 0000000000000000 20 4 30 10 -1\n"
        f"   2: {six}:D431 {six}:733C 01 {tail} 333 1 0000000000000000 20 4 30 10 -1\n"
        f"   3: 0100007F:1234 0100007F:5678 01 {tail} 444 1 0000000000000000 20 4 30 10 -1\n"
        "torn line\n"
    )
    port = 0x733C
    lines = parse_connections(text)
    assert (lines[0].local_address, lines[2].remote_address, lines[2].remote_port) == ("127.0.0.1", "::1", port)
    met = rendezvous_of("n1", port, 4, lines, {0: frozenset((333,)), 1: frozenset((444,))}, [frozenset((111, 222))])
    assert (met.listening, met.established, met.from_elsewhere, met.joined, met.missing) == (True, 1, 1, (0,), (1,))
    remote = rendezvous_of("n1", port, 4, lines[2:3], {0: frozenset((333,))})
    assert (remote.listening, remote.established, remote.from_elsewhere, remote.joined) == (False, 1, None, (0,))


def test_the_sockets_of_another_job_at_the_same_port_are_not_counted() -> None:
    here, there = "0100007F:733C", "0200007F:733C"
    tail = "00000000:00000000 00:00000000 00000000     0        0"
    text = (
        f"head\n0: {here} 00000000:0000 0A {tail} 111 1\n1: {here} {there} 01 {tail} 222 1\n2: {there} {here} 01 {tail} 333 1\n"
    )
    met = rendezvous_of("127.0.0.1", 0x733C, 2, parse_connections(text), {0: frozenset((5,)), 1: frozenset((6,))})
    assert (met.listening, met.another_listens, met.established, met.joined, met.missing) == (False, True, 0, (), (0, 1))
    unseen = rendezvous_of("n1", 0x733C, 2, parse_connections(text), {0: frozenset((5,)), 1: None})
    assert (unseen.listening, unseen.another_listens, unseen.established) == (None, False, None)


@pytest.mark.parametrize(
    ("name", "command", "role"),
    [
        ("torchrun", "/usr/bin/python3 /usr/bin/torchrun --nproc_per_node 8 train.py", "launcher"),
        ("python3", "python3 -m torch.distributed.run train.py", "launcher"),
        ("python3", "/usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=x train.py", "launcher"),
        ("accelerate", "/env/bin/python /env/bin/accelerate launch train.py", "launcher"),
        ("mpirun", "mpirun -np 8 python train.py", "launcher"),
        ("slurmstepd", "slurmstepd: [77.0]", "launcher"),
        ("bash", "bash -c torchrun train.py | tee log", None),
        ("pt_data_worker", "python train.py", "data worker"),
        ("ptxas", "ptxas -o a.cubin a.ptx", "compiler"),
        ("python3", "/env/bin/python /env/lib/torch/_inductor/compile_worker/__main__.py --workers=8", "compiler"),
        ("raylet", "/env/ray/core/src/ray/raylet/raylet --raylet_socket_name=x", "ray daemon"),
        ("ray::DashboardA", "ray::DashboardAgent", "ray daemon"),
        ("ray::WorkerDict", "ray::WorkerDict.update_actor", "ray worker"),
        ("VLLM::EngineCor", "VLLM::EngineCore_DP0", "engine core"),
        ("sglang::schedul", "sglang::scheduler_TP0", "engine core"),
        ("python3", "python train.py --launcher none", None),
        ("python3", "python -u train.py --launcher torchrun --x", None),
        ("python3", "/env/bin/python3.11 -m pkg.train --by accelerate now", None),
        ("ray", "/env/bin/python /env/bin/ray job submit -- python train.py", "launcher"),
        ("vim", "vim torchrun.py", None),
    ],
)
def test_the_part_of_a_process_is_known_by_name_and_command(name: str, command: str, role: str | None) -> None:
    assert role_by_name(name, command.split()) == role


def family(*rows: tuple[int, int, int]) -> dict[int, Stat]:
    """pid, ppid, group."""
    return {pid: Stat(pid, "python", "S", ppid, group, group, pid) for pid, ppid, group in rows}


def test_a_tree_is_read_from_top_to_bottom_elder_siblings_first() -> None:
    stats = family((10, 1, 10), (12, 10, 10), (11, 10, 10), (14, 11, 10), (13, 12, 10), (20, 1, 20))
    assert preorder(children_of(stats), [13, 11, 10, 12, 14], stats) == [10, 11, 14, 12, 13]
    assert preorder(children_of(stats), [13, 14], stats) == [13, 14]


def test_a_loop_of_parents_in_a_torn_table_ends() -> None:
    stats = family((10, 11, 10), (11, 10, 10))
    assert with_launchers(stats, [10], lambda pid: False) == [10]


def test_what_a_root_left_behind_in_its_group_is_found_but_not_the_neighbours_of_a_script() -> None:
    stats = family((10, 1, 10), (11, 1, 10), (12, 10, 10), (30, 1, 30), (31, 30, 30), (32, 30, 30))
    assert left_behind(stats, [10]) == [11]
    assert left_behind(stats, [31]) == []


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(os.path.realpath(tmp_path))


@pytest.mark.parametrize(
    ("typed", "name", "wanted"),
    [
        ("train.log", "train.log", True),
        ("train.log", "train.log.1", False),
        ("*.log", "rank_0.log", True),
        ("logs/*/stdout.log", "logs/3/stdout.log", True),
        ("logs", "logs/attempt_0/3/stdout.log", True),
        ("logs", "logs2/stdout.log", False),
        ("rank_[0-3].log", "rank_2.log", True),
        ("rank_[0-3].log", "rank_7.log", False),
    ],
)
def test_files_are_wanted_as_they_were_typed(here: Path, typed: str, name: str, wanted: bool) -> None:
    watched = WatchedFiles((typed,))
    watched.resolve()
    assert watched.matches(str(here / name)) is wanted


@linux_only
@pytest.mark.parametrize("typed", ["/dev/null", "/dev", "/dev/n*ll", "link"])
def test_a_device_that_everybody_may_write_makes_nobody_a_process_of_the_run(here: Path, typed: str) -> None:
    (here / "link").symlink_to("/dev/null")
    with python("import time; print(1, flush=True); open('/dev/null', 'w'); time.sleep(600)", stdout=subprocess.DEVNULL):
        source = ProcessSource(ProbeContext(WatchSpec(logs=(typed,), sources=("procs",))))
        readings = [value for value in source.read(time.time()) if isinstance(value, ProcessReading)]
        assert readings
        assert all(reading.writers == () and reading.processes == () for reading in readings)


@linux_only
def test_a_log_in_shared_memory_is_a_file(here: Path) -> None:
    watched = WatchedFiles(("/dev/shm/hangtop-train.log",))
    watched.resolve()
    assert watched.matches("/dev/shm/hangtop-train.log")


@linux_only
def test_what_is_piped_in_is_wanted(here: Path) -> None:
    read, write = os.pipe()
    try:
        watched = WatchedFiles(("-",), os.readlink(f"/proc/self/fd/{read}"))
        watched.resolve()
        assert watched.matches(os.readlink(f"/proc/self/fd/{write}"))
        assert not watched.matches(str(here / "-"))
    finally:
        os.close(read)
        os.close(write)


@linux_only
def test_the_program_behind_a_pipe_into_hangtop_is_the_writer(tmp_path: Path) -> None:
    with python("import time; print(1, flush=True); time.sleep(600)", stdout=subprocess.PIPE) as trainer:
        assert trainer.stdout is not None
        pipe = KeptPipe(-1, os.readlink(f"/proc/self/fd/{trainer.stdout.fileno()}"))
        source = ProcessSource(ProbeContext(WatchSpec(logs=("-",), stdin=pipe)))
        readings = [value for value in source.read(time.time()) if isinstance(value, ProcessReading)]
        assert [writer.pid for writer in readings[0].writers] == [trainer.pid]


@linux_only
def test_who_comes_and_who_goes_is_seen_at_the_next_look() -> None:
    table = LinuxTable()
    table.refresh(())
    with running("sleep", "600") as process:
        table.refresh(())
        assert table.stats[process.pid].name == "sleep"
    table.refresh(())
    assert process.pid not in table.stats


def of_a_zombie(path: str) -> bool:
    """The threads of a process whose first one has ended, somewhere on this machine, may be listed: the others may live on."""
    pid = path.removeprefix("/proc/").removesuffix("/task")
    if not pid.isdecimal() or not path.endswith("/task"):
        return False
    stat = linux.read_optional(f"/proc/{pid}/stat")
    return stat is None or stat.rpartition(b")")[2].split()[0] in (b"Z", b"X")


@linux_only
def test_while_nobody_comes_or_goes_no_pid_is_listed_and_what_follows_from_the_tree_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel counts processes and pids that it gave out: a listing of thousands each second tells no more."""
    crowd, listings = [(b"300", b"4000")], []
    monkeypatch.setattr(linux, "_thread_count", lambda: crowd[-1])
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: (not of_a_zombie(path) and listings.append(path)) or real(path))
    table = LinuxTable()
    table.refresh(())
    before, own = table.stats, table.stats[os.getpid()]
    spent_s = time.process_time()
    while time.process_time() - spent_s < 0.1:  # some CPU time of our own
        continue
    for _ in range(5):
        table.refresh((os.getpid(),))
    assert listings == ["/proc"]
    assert table.stats is before
    assert table.stats[os.getpid()].cpu_ticks > own.cpu_ticks
    crowd.append((b"301", b"4001"))
    table.refresh(())
    assert listings == ["/proc", "/proc"]


@linux_only
def test_at_leisure_a_dear_listing_is_not_made_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    listings: list[object] = []
    numbers = iter(range(1_000))
    monkeypatch.setattr(linux, "_thread_count", lambda: (b"300", b"%d" % next(numbers)))
    monkeypatch.setattr(linux, "LEISURE", 1e9)
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: (not of_a_zombie(path) and listings.append(path)) or real(path))
    for table, made in ((LinuxTable(), 5), (LinuxTable(at_leisure=True), 1)):
        listings.clear()
        for _ in range(5):
            table.refresh(())
        assert len(listings) == made
